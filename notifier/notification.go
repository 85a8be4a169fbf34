package notifier

import (
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// Notification is the content of a message with everything that has happened since its events were admitted. It has one
// event, or those of a bundle, of which only some may be listed.
type Notification struct {
	Events []NotificationEvent // at least one
	More   int64               // open events of the bundle that are not in Events
	// Unfollowed is how many of More are not tracked: their resolves cannot be shown.
	Unfollowed int64
	// Resolved counts resolved events of the bundle that are not in Events. LastResolvedAt is when the last of them was
	// resolved; zero where it is unknown.
	Resolved       int64
	LastResolvedAt time.Time
	// Repeats is how often the alert fired again, the last time at LastRepeatAt.
	Repeats      int64
	LastRepeatAt time.Time
	// Dropped counts later events of the category that were dropped, the last one at LastDropAt and with DroppedTitle.
	Dropped      int64
	LastDropAt   time.Time
	DroppedTitle string
	// Acknowledged is who acknowledged the message, and Muted who muted it; nil = nobody.
	Acknowledged *Mark `json:",omitempty"`
	Muted        *Mark `json:",omitempty"`
	// Reference is what the buttons of the message are for; the zero value is no buttons.
	Reference Reference `json:",omitzero"`
}

// NotificationEvent is one event of a message.
type NotificationEvent struct {
	events.Event
	ResolvedAt time.Time // zero = it is not resolved
}

// Notification renders a message again after something has happened to it, or a bundle for the first time.
func (r Renderer) Notification(n Notification) Message {
	var m Message
	if len(n.Events) == 1 && n.More+n.Resolved == 0 {
		m = r.single(n.Events[0])
	} else {
		m = r.bundle(n)
	}
	m.addHistory(n.marks())
	m.addHistory(n.history())
	r.addButtons(&m, n)
	return m
}

// addHistory adds what has happened since the message was posted; "" = nothing.
func (m *Message) addHistory(history string) {
	switch {
	case history == "":
	case m.Native != nil: // a context block would not show below native blocks
		m.Text = strings.TrimSpace(cutMarkup(m.Text, maxText-characters(history)-1) + "\n" + history)
	default:
		m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(history)))
		m.Fallback = cutMarkup(m.Fallback+"\n"+escaped(Plain(Message{Text: history}), maxHeadline), maxFallback)
	}
}

// history describes which events were added since the message was posted; "" = nothing.
func (n Notification) history() string {
	var parts []string
	if n.Repeats > 0 {
		parts = append(parts, fmt.Sprintf("repeated %s, last at %s", times(n.Repeats), date(n.LastRepeatAt, "{time}")))
	}
	if n.Dropped > 0 {
		title := escaped(oneLine(n.DroppedTitle), maxHeadline)
		parts = append(parts, fmt.Sprintf("and %d more, last at %s: %s", n.Dropped, date(n.LastDropAt, "{time}"), title))
	}
	return strings.Join(parts, " · ")
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// isResolved reports whether an event is resolved, by its own status or later.
func (e NotificationEvent) isResolved() bool {
	return e.Status == events.Resolved || !e.ResolvedAt.IsZero()
}

// current returns the event with its status of now: a firing that was resolved later is resolved.
func (e NotificationEvent) current() events.Event {
	if e.isResolved() {
		e.Status = events.Resolved
	}
	return e.Event
}

// endedAt is when the event was resolved: as its sender says, else when the relay learned it; zero = it is not, or unknown.
func (e NotificationEvent) endedAt() time.Time {
	if e.ResolvedAt.IsZero() {
		return e.EndedAt
	}
	return e.ResolvedAt
}

// resolution describes when an event was resolved, and after how long; "" = that is unknown.
func (e NotificationEvent) resolution() string {
	end := e.endedAt()
	switch {
	case end.IsZero():
		return ""
	case e.StartedAt.IsZero() || !end.After(e.StartedAt):
		return "resolved at " + date(end, "{time}")
	default:
		return "resolved after " + humanDuration(end.Sub(e.StartedAt)) + ", at " + date(end, "{time}")
	}
}

// humanDuration is a duration in its largest units, two for hours and days.
func humanDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	default:
		return fmt.Sprintf("%d s", d/time.Second)
	}
}
