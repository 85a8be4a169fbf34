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

// Renderer says events as a channel wants them. The zero value says them as they come.
type Renderer struct {
	// Mentions are who is called by a severity, as [Mention] writes it.
	Mentions map[events.Severity]string
	// AllowMentions lets a sender's text call people; else nothing in it comes alive.
	AllowMentions bool
	// Template replaces the headline and the text of a single event; nil = none.
	Template *Template
}

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
func Render(e events.Event) Message { return Renderer{}.Render(e) }

// Render says one event.
func (r Renderer) Render(e events.Event) Message {
	if e.Slack.Says() && r.Template == nil {
		return r.own(e)
	}
	style := styleOf(e)
	m := Message{Color: style.color, ID: e.ID}
	title, text, ok := r.Template.run(e)
	if !ok {
		title, text = r.headline(e), r.untrusted(strings.TrimSpace(e.Text), maxSection)
	}
	m.Text = r.calling(style.icon+" "+testMark(e)+title, e)
	if text != "" {
		m.Blocks = append(m.Blocks, slack.NewSectionBlock(mrkdwn(text), nil, nil))
	}
	m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(escaped(details(e), maxContext))))
	if places := strings.Join(places(e), " · "); places != "" {
		m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(places)))
	}
	m.Fallback = escaped(strings.TrimSpace(strings.TrimSpace(e.Text)+"\n"+details(e)), maxFallback)
	return m
}

// untrusted makes a sender's text safe.
func (r Renderer) untrusted(s string, limit int) string {
	if r.AllowMentions {
		return escapedBut(s, limit)
	}
	return escaped(s, limit)
}

// calling adds who is called by the severity of an event. Nobody is called for what is over.
func (r Renderer) calling(headline string, e events.Event) string {
	if mention := r.Mentions[e.Severity]; mention != "" && e.Status != events.Resolved {
		return headline + " " + mention
	}
	return headline
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

// titleOf is an event in one line.
func titleOf(e events.Event) string {
	title := oneLine(e.Title)
	if title == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(e.Text), "\n")
		title = oneLine(first)
	}
	return title
}

// headline is the first line, without the icon: what a phone's lock screen shows.
func (r Renderer) headline(e events.Event) string {
	title := titleOf(e)
	if e.Status == events.Resolved {
		title = "Resolved: " + title
	}
	title = strings.ReplaceAll(title, "*", "∗") // a star would end the bold type
	if len(e.Links) == 0 {
		return "*" + r.untrusted(title, maxHeadline) + "*"
	}
	return "*" + link(e.Links[0].URL, title, maxHeadline) + "*"
}

// details are severity, category, source and labels, in one line of plain text.
func details(e events.Event) string {
	parts := []string{string(e.Severity), e.Category, e.Source}
	if e.Shortened > 0 {
		parts = append(parts, shortened(e))
	}
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

// shortened says that not all that a sender said is shown.
func shortened(e events.Event) string { return fmt.Sprintf("shortened from %d bytes", e.Shortened) }

// places are the links and the time, in mrkdwn.
func places(e events.Event) []string {
	var all []string
	for _, l := range e.Links {
		if safeURL(l.URL) != "" {
			all = append(all, link(l.URL, l.Title, maxLabelShown))
		}
	}
	if !e.StartedAt.IsZero() {
		all = append(all, "since "+date(e.StartedAt, "{date_short_pretty} {time_secs}"))
	}
	return all
}

// date is a time as each reader's own clock has it.
func date(at time.Time, format string) string {
	at = at.UTC()
	return fmt.Sprintf("<!date^%d^%s|%s>", at.Unix(), format, at.Format(time.DateTime+" UTC"))
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

// Mention writes who is called: here, channel, everyone, or the id of a user (U...) or of a user group (S...);
// "" when it is none of these.
func Mention(who string) string {
	switch {
	case who == "here" || who == "channel" || who == "everyone":
		return "<!" + who + ">"
	case !slackID.MatchString(who):
		return ""
	case who[0] == 'S':
		return "<!subteam^" + who + ">"
	default:
		return "<@" + who + ">"
	}
}
