package pipeline

import (
	"context"
	"fmt"
	"slices"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/store"
)

// remindedMessage is a message when people are reminded of it.
type remindedMessage struct {
	problem.Reminded

	number int64
	record *store.PostedMessage
	firing []events.Event // of those that it lists
	ended  []events.Event // likewise
	total  int64          // alerts of the message
}

// message returns what is known of a message at now.
func (r *Reminders) message(ctx context.Context, ch *Channel, number, now int64) (*remindedMessage, error) {
	m := &remindedMessage{number: number}
	record, err := r.record(ctx, ch, number)
	if err != nil || record == nil {
		return m, err
	}
	ended, err := r.endedUnsaid(ctx, ch, record)
	if err != nil {
		return nil, err
	}
	m.record = record
	m.Posted = record.InSlack
	m.Firing = record.Untracked
	m.total = record.Untracked + record.UntrackedResolved + int64(len(record.Events)+len(record.Members))
	for fingerprint := range record.Firing() {
		if !ended[fingerprint] {
			m.Firing++
		}
	}
	for _, listed := range record.Events {
		all, _, err := decodeEvents([]byte(listed.Payload))
		switch {
		case err != nil: // it is unknown what the message says
		case listed.Fingerprint == "" || listed.Resolved > 0 || ended[listed.Fingerprint]:
			m.ended = append(m.ended, all[0])
		default:
			m.firing = append(m.firing, all[0])
		}
	}
	m.Muted = r.isMuted(m, now)
	m.Acknowledged, err = r.isAcknowledged(ctx, ch, record)
	return m, err
}

// isMuted reports whether somebody muted a message, or silences mute all alerts that it lists as firing.
func (r *Reminders) isMuted(m *remindedMessage, now int64) bool {
	if mark := m.record.Muted; mark != nil && (mark.Until == 0 || mark.Until > now) {
		return true
	}
	return len(m.firing) > 0 && !slices.ContainsFunc(m.firing, func(e events.Event) bool {
		return r.in.mutedBy(&e, events.Verdict{}) == ""
	})
}

// isAcknowledged reports whether somebody acknowledged a message, or the earlier messages that report the same alerts.
func (r *Reminders) isAcknowledged(ctx context.Context, ch *Channel, record *store.PostedMessage) (bool, error) {
	if record.Acknowledged != nil || len(record.Earlier) == 0 {
		return record.Acknowledged != nil, nil
	}
	open := map[string]bool{}
	for fingerprint := range record.Firing() {
		open[fingerprint] = true
	}
	for _, number := range record.Earlier {
		number, err := numberOf(number)
		if err != nil {
			return false, err
		}
		earlier, err := r.record(ctx, ch, number)
		if err != nil {
			return false, err
		}
		if earlier == nil || earlier.Acknowledged == nil {
			continue
		}
		for fingerprint := range earlier.Firing() {
			delete(open, fingerprint)
		}
	}
	return len(open) == 0, nil
}

// count says how many alerts of the message still fire.
func (m *remindedMessage) count() string {
	if m.total == 1 {
		return "still firing"
	}
	return fmt.Sprintf("%d of %d alerts are still firing", m.Firing, m.total)
}

// about returns the events that a reminder is about: those that still fire. If the message does not list them, it is one that
// stands for them, and that no resolve ends.
func (m *remindedMessage) about() []events.Event {
	if len(m.firing) > 0 {
		return slices.Clone(m.firing)
	}
	e := events.Event{Category: m.record.Category, Severity: events.Warning}
	if len(m.ended) > 0 {
		e = m.ended[0]
	}
	e.Title, e.Text, e.Status, e.Fingerprint, e.Slack = m.count(), "", "", "", nil
	return []events.Event{e}
}
