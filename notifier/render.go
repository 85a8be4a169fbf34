package notifier

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// Renderer renders messages for a channel. The zero value mentions nobody and has no template.
//
//	r := notifier.Renderer{Mentions: map[events.Severity]string{events.Critical: notifier.Mention("here")}}
type Renderer struct {
	// Mentions is the markup of whom to mention for a severity, as [Mention] returns it.
	Mentions map[events.Severity]string
	// ReminderMention is the markup of whom reminders mention; "" = whom Mentions names for the severity.
	ReminderMention string
	// AllowMentions keeps mentions in a sender's text active; otherwise they are escaped.
	AllowMentions bool
	// Template renders the headline and the text of a single event; nil = the default layout.
	Template *Template
	// Pages is where messages link to in the relay's dashboard; "" = nowhere.
	Pages Pages
	// Buttons adds buttons to messages: somebody receives the clicks.
	Buttons bool `json:",omitempty"`
	// Mutes adds those that mute: somebody is allowed to.
	Mutes bool `json:",omitempty"`
}

// style is the look of a severity.
type style struct{ icon, color string }

var styles = map[events.Severity]style{
	events.Critical: {"🔴", "#e01e5a"},
	events.Error:    {"🟠", "#e8590c"},
	events.Warning:  {"🟡", "#ecb22e"},
	events.Info:     {"🔵", "#36c5f0"},
}

var resolvedStyle = style{"✅", "#2eb67d"}

// Icon returns the sign with which the headline of an event begins: the colour of its severity, or that it is resolved.
func Icon(e events.Event) string { return styleOf(e).icon }

// Render renders one event.
func (r Renderer) Render(e events.Event) Message { return r.single(NotificationEvent{Event: e}) }

// single renders one event. Without a template, the layout reads well on a phone: severity and title with a link on the first
// line; below it, beside a bar in the severity's colour, the text, and in small print how bad it is, since when and where, then
// the links. An end that is known takes the place of what the sender said while it lasted.
func (r Renderer) single(e NotificationEvent) Message {
	if e.Slack.HasContent() && r.Template == nil {
		return r.native(e.current())
	}
	now := e.current()
	look := styleOf(now)
	m := Message{Color: look.color, ID: e.ID}
	title, text, ok := r.Template.run(e)
	said := title
	if !ok {
		title, text, said = r.headline(e), r.escape(e.body(), maxSection), titleOf(now)
	}
	m.Text = r.withMention(look.icon+" "+testMark(now)+title, now)
	if text != "" {
		m.Blocks = append(m.Blocks, slack.NewSectionBlock(mrkdwn(text), nil, nil))
	}
	if image := imageOf(now); image != nil {
		m.Blocks = append(m.Blocks, image)
	}
	about := e.about(said)
	m.addContext(about.marked())
	m.Links = linkRow(r.links(now))
	m.addContext(m.Links)
	m.Fallback = escaped(strings.TrimSpace(e.body()+"\n"+about.plain()), maxFallback)
	return m
}

// addContext adds a line of small print, unless it is empty.
func (m *Message) addContext(marked string) {
	if marked != "" {
		m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(marked)))
	}
}

// escape makes a sender's text safe, cut to limit characters.
func (r Renderer) escape(s string, limit int) string {
	if r.AllowMentions {
		return escapedExceptMentions(s, limit)
	}
	return escaped(s, limit)
}

// withMention adds the mention for the severity of an event, unless it is resolved.
func (r Renderer) withMention(headline string, e events.Event) string {
	mention := r.Mentions[e.Severity]
	if e.Reminder > 0 {
		mention = cmp.Or(r.ReminderMention, mention)
	}
	if mention == "" || e.Status == events.Resolved {
		return headline
	}
	return headline + " " + mention
}

func styleOf(e events.Event) style {
	if e.Status == events.Resolved {
		return resolvedStyle
	}
	if style, ok := styles[e.Severity]; ok {
		return style
	}
	return styles[events.Warning]
}

// titleOf returns the title of an event, or the first line of its text.
func titleOf(e events.Event) string {
	title := oneLine(e.Title)
	if title == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(e.Text), "\n")
		title = oneLine(first)
	}
	return title
}

// headline returns the first line of a message without the icon: the part that a phone's lock screen shows.
func (r Renderer) headline(e NotificationEvent) string {
	title := titleOf(e.Event)
	switch {
	case e.isResolved() && (e.speaksOfFiring() || !isOver.MatchString(title)):
		title = "Resolved: " + title
	case e.Reminder > 0 && e.Status == events.Firing:
		title = "Still firing: " + title
	}
	title = strings.ReplaceAll(title, "*", "∗") // a star would end bold type
	if len(e.Links) == 0 {
		return "*" + r.escape(title, maxHeadline) + "*"
	}
	return "*" + link(e.Links[0].URL, title, maxHeadline) + "*"
}

// shortenedNote is the note on an event that was too long.
func shortenedNote(e events.Event) string { return fmt.Sprintf("shortened from %d bytes", e.Shortened) }

// date returns a time that Slack shows in each reader's time zone.
func date(at time.Time, format string) string {
	at = at.UTC()
	return fmt.Sprintf("<!date^%d^%s|%s>", at.Unix(), format, at.Format(time.DateTime+" UTC"))
}

func truncateLabel(s string) string {
	if runes := []rune(s); len(runes) > maxLabelShown {
		return string(runes[:maxLabelShown-1]) + "…"
	}
	return s
}

// mrkdwn returns a text object for escaped text. It is verbatim: Slack must not turn plain words into links or mentions.
func mrkdwn(text string) *slack.TextBlockObject {
	return &slack.TextBlockObject{Type: slack.MarkdownType, Text: text, Verbatim: true}
}

// slackID is the form of Slack's ids of users and user groups.
var slackID = regexp.MustCompile(`^[UWS][A-Z0-9]{2,}$`)

// Mention returns the markup that mentions here, channel, everyone, or the user (U...) or user group (S...) with this id; ""
// for any other value.
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
