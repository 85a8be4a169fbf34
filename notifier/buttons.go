package notifier

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// What people can do with a message: the action_id of each button. Those that undo another are in its place.
const (
	ActionAcknowledge   = "relay_acknowledge"
	ActionUnacknowledge = "relay_unacknowledge"
	ActionMute          = "relay_mute"
	ActionUnmute        = "relay_unmute"
	ActionRunbook       = "relay_runbook" // only opens a page
	ActionShowDrops     = "relay_drops"
	ActionPost          = "relay_post"
	ActionMuteCategory  = "relay_mute_category"
)

// Reference is the value of a button: which message of which channel of the relay it is for, and what it does with it. It is an
// identifier, and proves nothing.
type Reference struct {
	Channel  string // the name in the relay
	Number   int64  // of the message; 0 = the message has no buttons
	Argument string // depends on the button
}

// String returns the reference as it stands in a button: alerts/1234, or alerts/1234/4h.
func (r Reference) String() string {
	text := fmt.Sprintf("%s/%d", r.Channel, r.Number)
	if r.Argument != "" {
		text += "/" + r.Argument
	}
	return text
}

// with returns the reference with an argument.
func (r Reference) with(argument string) string {
	r.Argument = argument
	return r.String()
}

// errReference is the error for a value that no button of the relay has.
var errReference = errors.New("the button is not one of the relay's")

// maxReference is the longest value of an option that Slack accepts, in characters.
const maxReference = 150

// ParseReference reads the value of a button.
func ParseReference(value string) (Reference, error) {
	channel, rest, found := strings.Cut(value, "/")
	number, argument, more := strings.Cut(rest, "/")
	n, err := strconv.ParseInt(number, 10, 64)
	parsed := Reference{Channel: channel, Number: n, Argument: argument}
	if !found || err != nil || n <= 0 || channel == "" || len(value) > maxReference || more && argument == "" || parsed.String() != value {
		return Reference{}, errReference
	}
	return parsed, nil
}

// Mark is who acknowledged or muted a message.
type Mark struct {
	Name  string // of the user
	At    time.Time
	Until time.Time // of a mute; zero = until the message is resolved
}

// Parts of the argument of a mute.
const (
	// UntilResolved is the argument of one that ends when its message is resolved.
	UntilResolved = "resolved"
	// OfCategories ends the argument of one that the menu offers for the categories of the message's alerts.
	OfCategories = "/all"
)

// muteDurations are for how long a message or a category can be muted.
var muteDurations = []struct{ argument, label string }{
	{"1h", "for 1 hour"}, {"4h", "for 4 hours"}, {UntilResolved, "until resolved"},
}

// marks describes who acknowledged and muted a message; "" = nobody.
func (n Notification) marks() string {
	var parts []string
	if by := n.Acknowledged; by != nil {
		parts = append(parts, "👀 acknowledged by "+escaped(oneLine(by.Name), maxLabelShown)+" at "+date(by.At, "{time}"))
	}
	if by := n.Muted; by != nil && n.isFiring() {
		until := "until it is resolved"
		if !by.Until.IsZero() {
			until = "until " + date(by.Until, "{date_short_pretty} {time}")
		}
		parts = append(parts, "🔇 muted by "+escaped(oneLine(by.Name), maxLabelShown)+" "+until)
	}
	return strings.Join(parts, separator)
}

// isFiring reports whether people can still act on the message.
func (n Notification) isFiring() bool {
	return n.More > n.Unfollowed || slices.ContainsFunc(n.Events, func(e NotificationEvent) bool {
		return e.Status == events.Firing && e.Fingerprint != "" && !e.isResolved()
	})
}

// addButtons adds the buttons of a message whose alerts fire, if people can click on the channel's messages.
func (r Renderer) addButtons(m *Message, n Notification) {
	if !r.Buttons || n.Reference.Number == 0 || m.Native != nil || !n.isFiring() {
		return
	}
	var row []slack.BlockElement
	if n.Acknowledged == nil {
		row = append(row, button(ActionAcknowledge, n.Reference.String(), "Acknowledge"))
	} else {
		row = append(row, button(ActionUnacknowledge, n.Reference.String(), "Undo acknowledge"))
	}
	switch {
	case !r.Mutes:
	case n.Muted == nil:
		row = append(row, n.muteMenu())
	default:
		row = append(row, button(ActionUnmute, n.Reference.String(), "Unmute"))
	}
	if address := n.runbook(); address != "" {
		opens := button(ActionRunbook, "", runbookLink)
		opens.URL = address
		row = append(row, opens)
	}
	m.Blocks = append(m.Blocks, slack.NewActionBlock("", row...))
}

func button(action, value, label string) *slack.ButtonBlockElement {
	return slack.NewButtonBlockElement(action, value, plainText(label))
}

func plainText(text string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, text, false, false)
}

// muteMenu says what is muted: the alert of the message, or the categories of its alerts.
func (n Notification) muteMenu() slack.BlockElement {
	what, scope := "this alert", ""
	if len(n.Events) > 1 || n.More+n.Resolved > 0 {
		scope = OfCategories
		if categories := n.categories(); len(categories) == 1 {
			what = truncateLabel(categories[0])
		} else {
			what = fmt.Sprintf("%d categories", len(categories))
		}
	}
	options := make([]*slack.OptionBlockObject, len(muteDurations))
	for i, d := range muteDurations {
		options[i] = slack.NewOptionBlockObject(n.Reference.with(d.argument+scope), plainText(d.label), nil)
	}
	return slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText("Mute "+what+"…"), ActionMute, options...)
}

// categories returns the categories of the events that the message lists.
func (n Notification) categories() []string {
	var all []string
	for _, e := range n.Events {
		if !slices.Contains(all, e.Category) {
			all = append(all, e.Category)
		}
	}
	return all
}

// maxButtonURL is the longest address that Slack accepts in a button, in characters.
const maxButtonURL = 3000

// runbook returns the address of the runbook that all events have; "" = there is none.
func (n Notification) runbook() (address string) {
	for i, e := range n.Events {
		at := slices.IndexFunc(e.Links, func(l events.Link) bool { return l.Title == runbookLink })
		if at < 0 || i > 0 && e.Links[at].URL != address {
			return ""
		}
		address = e.Links[at].URL
	}
	address = strings.ReplaceAll(safeURL(address), "&amp;", "&") // a button takes it without the escapes of mrkdwn
	if characters(address) > maxButtonURL {
		return ""
	}
	return address
}

// addDigestButtons adds the buttons of a digest.
func (r Renderer) addDigestButtons(m *Message, d Digest) {
	if !r.Buttons || d.Reference.Number == 0 {
		return
	}
	row := []slack.BlockElement{button(ActionShowDrops, d.Reference.String(), "Show held back")}
	if menu := d.muteMenu(); r.Mutes && menu != nil {
		row = append(row, menu)
	}
	m.Blocks = append(m.Blocks, slack.NewActionBlock("", row...))
}

// muteMenu offers to mute a category of the digest; nil = none can be muted.
func (d Digest) muteMenu() slack.BlockElement {
	var groups []*slack.OptionGroupBlockObject
	for _, duration := range muteDurations {
		if duration.argument == UntilResolved {
			continue
		}
		var options []*slack.OptionBlockObject
		for _, c := range d.Categories[:min(len(d.Categories), maxDigestCategories)] {
			value := d.Reference.with(duration.argument + "/" + c.Name)
			if len(value) <= maxReference {
				options = append(options, slack.NewOptionBlockObject(value, plainText(truncateOption(c.Name)), nil))
			}
		}
		if options == nil {
			return nil
		}
		groups = append(groups, slack.NewOptionGroupBlockElement(plainText("Mute "+duration.label), options...))
	}
	return slack.NewOptionsGroupSelectBlockElement(slack.OptTypeStatic, plainText("Mute a category…"), ActionMuteCategory, groups...)
}

// truncateOption cuts the label of an option to the length that Slack accepts.
func truncateOption(label string) string {
	const most = 75
	if runes := []rune(label); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return label
}

// Untrusted returns a text for mrkdwn: on one line, escaped, and cut to so many characters.
func Untrusted(text string, limit int) string { return escaped(oneLine(text), limit) }

// Date returns a time that Slack shows in the time zone of each reader.
func Date(at time.Time) string { return date(at, "{date_short_pretty} {time}") }

// Mrkdwn returns a block of text that was escaped with [Untrusted].
func Mrkdwn(text string) *slack.TextBlockObject { return mrkdwn(text) }

// Button returns a button.
func Button(action string, value Reference, label string) *slack.ButtonBlockElement {
	return button(action, value.String(), label)
}
