package notifier

import (
	"fmt"
	"strings"
	"time"

	"slackrelay/events"
)

// Reminder is a reply to a message whose alerts still fire and that nobody acknowledged.
type Reminder struct {
	Event         events.Event  // one that still fires; without a status, it stands for those that the message does not list
	Firing, Total int64         // alerts of the message that still fire, and all of them
	Since         time.Duration // since the message was posted
}

// Reminder renders a reminder: one line that mentions whoever must know.
func (r Renderer) Reminder(reminder Reminder) Message {
	e := reminder.Event
	what := "Still firing"
	if reminder.Total > 1 {
		what = fmt.Sprintf("%d of %d alerts are still firing", reminder.Firing, reminder.Total)
	}
	what = "⏰ " + testMark(e) + what + " after " + humanDuration(reminder.Since)
	if e.Status == events.Firing {
		what += ": *" + escaped(strings.ReplaceAll(titleOf(e), "*", "∗"), maxHeadline) + "*" // a star would end bold type
	}
	e.Reminder = max(e.Reminder, 1)
	return Message{Text: r.withMention(what, e), ID: e.ID}
}
