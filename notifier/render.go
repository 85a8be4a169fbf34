package notifier

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// look is how a severity is told at a glance.
type look struct{ icon, color string }

var looks = map[events.Severity]look{
	events.Critical: {"🔴", "#e01e5a"},
	events.Error:    {"🟠", "#e8590c"},
	events.Warning:  {"🟡", "#ecb22e"},
	events.Info:     {"🔵", "#36c5f0"},
}

var resolvedLook = look{"✅", "#2eb67d"}

const (
	maxLabelsShown = 10
	maxLabelShown  = 80
)

// Render says an event as a message that reads well on a phone: severity and title with a link on the first
// line; below it, in the severity's colour, the text, and small the category, labels, links and time.
func Render(e events.Event) Message {
	style := styleOf(e)
	text := escaped(strings.TrimSpace(e.Text), maxSection)
	about := escaped(details(e), maxContext)
	places := strings.Join(places(e), " · ")

	m := Message{Color: style.color, Text: headline(e, style)}
	if text != "" {
		m.Blocks = append(m.Blocks, slack.NewSectionBlock(mrkdwn(text), nil, nil))
	}
	m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(about)))
	if places != "" {
		m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(places)))
	}
	m.Fallback = escaped(strings.TrimSpace(strings.TrimSpace(e.Text)+"\n"+details(e)), maxFallback)
	return m
}

func styleOf(e events.Event) look {
	if e.Status == events.Resolved {
		return resolvedLook
	}
	if style, ok := looks[e.Severity]; ok {
		return style
	}
	return looks[events.Warning]
}

// headline is the first line: what a phone's lock screen shows.
func headline(e events.Event, style look) string {
	title := oneLine(e.Title)
	if title == "" {
		title, _, _ = strings.Cut(strings.TrimSpace(e.Text), "\n")
	}
	if e.Status == events.Resolved {
		title = "Resolved: " + title
	}
	title = strings.ReplaceAll(title, "*", "∗") // a star would end the bold type
	if len(e.Links) == 0 {
		return style.icon + " *" + escaped(oneLine(title), maxHeadline) + "*"
	}
	return style.icon + " *" + link(e.Links[0].URL, title, maxHeadline) + "*"
}

// details are severity, category, source and labels, in one line of plain text.
func details(e events.Event) string {
	parts := []string{string(e.Severity), e.Category, e.Source}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(e.Labels)), func(name string) bool {
		return name == "alertname" || name == "severity" // said already
	})
	shown := min(len(names), maxLabelsShown)
	for _, name := range names[:shown] {
		parts = append(parts, shorten(name)+"="+shorten(oneLine(e.Labels[name])))
	}
	if more := len(names) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more labels", more))
	}
	if e.Note != "" {
		parts = append(parts, e.Note)
	}
	return strings.Join(parts, " · ")
}

// places are the links and the time, in mrkdwn.
func places(e events.Event) []string {
	var all []string
	for _, l := range e.Links {
		if safeURL(l.URL) != "" {
			all = append(all, link(l.URL, l.Title, maxLabelShown))
		}
	}
	if !e.StartedAt.IsZero() {
		at := e.StartedAt.UTC()
		all = append(all, fmt.Sprintf("since <!date^%d^{date_short_pretty} {time_secs}|%s>", at.Unix(), at.Format(time.DateTime+" UTC")))
	}
	return all
}

func shorten(s string) string {
	if runes := []rune(s); len(runes) > maxLabelShown {
		return string(runes[:maxLabelShown-1]) + "…"
	}
	return s
}

// mrkdwn is text that is escaped already. Verbatim: Slack must not make links or mentions of bare words.
func mrkdwn(text string) *slack.TextBlockObject {
	return &slack.TextBlockObject{Type: slack.MarkdownType, Text: text, Verbatim: true}
}
