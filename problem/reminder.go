package problem

import (
	"encoding/json"
	"time"
)

// Reminders are when people are reminded of a message of which alerts still fire and that nobody acknowledged. The zero value
// reminds nobody.
//
//	problem.Reminders{After: 30 * time.Minute, Every: 2 * time.Hour}
type Reminders struct {
	// After is the time from the post to the first reminder; 0 = nobody is reminded.
	After time.Duration
	// Every is the time between two reminders; 0 = there is one for each message.
	Every time.Duration
}

// MaxReminders is how many reminders there are of one message.
const MaxReminders = 10

// Reminder is the document of a posted message. It is made before the message is posted. Times are microseconds of the store's
// clock.
type Reminder struct {
	Next     int64 `json:"next,omitempty"`      // when people are reminded; 0 = not any more
	Said     int   `json:"said,omitempty"`      // how often they were
	Tries    int   `json:"tries,omitempty"`     // how often the limits refused the next reminder
	Claimed  bool  `json:"claimed,omitempty"`   // a replica makes the reminder; at Next, another one does
	Unposted bool  `json:"unposted,omitempty"`  // the message was not in Slack when it was looked at last
	NotUntil int64 `json:"not_until,omitempty"` // it slept through an outage, and wakes again then
}

// Reminded is what is known of a message when its document wakes.
type Reminded struct {
	Firing int64 // alerts of the message that still fire
	Posted bool  // the message is in Slack
	// Acknowledged means that somebody takes care of it, and Muted that nobody wants to read of it for now.
	Acknowledged, Muted bool
}

// Expect returns the document of a message that is posted at now.
func (s Reminders) Expect(now int64) Reminder {
	return Reminder{Next: now + s.After.Microseconds()}
}

// Continue returns the document of a message that is posted at now and reports alerts of an earlier message, whose document it
// takes over: people are reminded of an alert that its sender repeats as if it were one message. said is how many reminders the new
// message is itself.
func (s Reminders) Continue(earlier Reminder, said int, now int64) Reminder {
	if earlier.Claimed { // the reminder is being made
		earlier = s.Said(earlier, now)
	}
	if said > earlier.Said {
		earlier.Said = said - 1
		earlier = s.Said(earlier, now)
	}
	earlier.Unposted = false
	earlier.NotUntil = 0
	return earlier
}

// Wake looks at a document at now. If say is true, the caller saves the document, makes the reminder, and then saves what Said or
// Refused returns: if it dies in between, the document wakes again. needed is false if the document is not needed any more.
func (s Reminders) Wake(d Reminder, m Reminded, now int64) (next Reminder, say, needed bool) {
	at := max(d.Next, d.NotUntil)
	switch {
	case s.After == 0 || m.Firing == 0:
		return Reminder{}, false, false
	case d.Next == 0 || at > now:
		return d, false, true
	case m.Acknowledged:
		d.Claimed, d.NotUntil = false, 0
		d.Next = now + s.After.Microseconds() // whoever acknowledged it may undo that
		return d, false, true
	case now-at > late.Microseconds() && d.NotUntil == 0: // replicas may report resolves first that they could not write
		d.NotUntil = now + grace.Microseconds()
		return d, false, true
	}
	d.NotUntil = 0
	switch {
	case !m.Posted:
		d.Unposted = true
		d.Next = now + min(s.After, lookAtLeast).Microseconds()
	case d.Unposted:
		d.Unposted = false
		d.Next = now + s.After.Microseconds()
	case m.Muted:
		d.Claimed = false
		d.Next = now + s.After.Microseconds()
	default:
		d.Claimed = true
		d.Next = now + claim.Microseconds()
		return d, true, true
	}
	return d, false, true
}

// Said returns the document after its reminder was made at now.
func (s Reminders) Said(d Reminder, now int64) Reminder {
	d = Reminder{Said: d.Said + 1}
	if s.Every > 0 && d.Said < MaxReminders {
		d.Next = now + s.Every.Microseconds()
	}
	return d
}

// Refused returns the document after the limits refused its reminder at now, which could fit after a time at the earliest.
func (s Reminders) Refused(d Reminder, fits time.Duration, now int64) Reminder {
	return Reminder{Said: d.Said, Tries: d.Tries + 1, Next: now + max(s.After, fits).Microseconds()}
}

// Wakes returns when the document must be looked at; 0 = never.
func (d Reminder) Wakes() int64 {
	if d.Next == 0 {
		return 0
	}
	return max(d.Next, d.NotUntil)
}

// DecodeReminder returns a document.
func DecodeReminder(data []byte) (d Reminder, err error) {
	err = json.Unmarshal(data, &d)
	return d, err
}
