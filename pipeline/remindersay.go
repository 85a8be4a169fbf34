package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

func isUnavailable(err error) bool {
	return errors.Is(err, ratelimit.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

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

// Wakeup looks at documents of messages whose wake-up has come. It is a [ProblemHandler].
func (r *Reminders) Wakeup(ctx context.Context, channel store.Channel, now int64, due []store.Problem) error {
	b := r.in.channel(channel.Name)
	if b == nil || b.Handling == nil {
		return nil // its configuration is gone
	}
	if err := r.in.ReportMissed(ctx); err != nil {
		return err
	}
	var faults []error
	for i := range due {
		faults = append(faults, r.wake(ctx, b, now, due[i]))
	}
	return errors.Join(faults...)
}

// wake looks at one document.
func (r *Reminders) wake(ctx context.Context, b *RequestBuilder, now int64, document store.Problem) error {
	number, err := numberOf(document.Name)
	if err != nil {
		return err
	}
	before, err := problem.DecodeReminder(document.Data)
	if err != nil {
		return fmt.Errorf("document %s: %w", document.Name, err)
	}
	m, err := r.message(ctx, b.Channel, number, now)
	if err != nil {
		return err
	}
	next, say, needed := b.Remind.Wake(before, m.Reminded, now)
	change := store.ProblemChange{Name: document.Name, Version: document.Version}
	if needed {
		if change, err = changeTo(b.Channel, document, next); err != nil {
			return err
		}
	}
	saved, err := r.save(ctx, b.Channel, store.ProblemCounts{}, change)
	if err != nil || !saved || !say {
		return err
	}
	decisions, err := r.make(ctx, b, m, next)
	if err != nil {
		return err
	}
	return r.settle(ctx, b, document.Name, next, decisions, before.Claimed)
}

// make makes a reminder. It returns what the limiter decided; nil = it was not asked.
func (r *Reminders) make(ctx context.Context, b *RequestBuilder, m *remindedMessage, d problem.Reminder) ([]store.Decision, error) {
	if b.Remind.InThread && m.record.TS != "" {
		return nil, r.reply(ctx, b, m, d)
	}
	return r.postAgain(ctx, b, m, d)
}

// settle notes in a document that its reminder was made, or refused by the limits. What cannot be noted is made again, as a
// duplicate, which is not counted: again is set then.
func (r *Reminders) settle(
	ctx context.Context, b *RequestBuilder, name string, claimed problem.Reminder, decisions []store.Decision, again bool,
) error {
	now, documents, err := r.load(ctx, b.Channel, name)
	if err != nil {
		return err
	}
	if d, err := problem.DecodeReminder(documents[0].Data); err != nil || d != claimed {
		return nil //nolint:nilerr // another replica, or another message, took it over
	}
	next := b.Remind.Said(claimed, now)
	var counts store.ProblemCounts
	for i := range decisions {
		if decisions[i].Outcome.Drops() && i == 0 {
			next = b.Remind.Refused(claimed, decisions[i].RetryAfter, now)
		}
		if decisions[i].Outcome == store.Duplicate && again {
			counts.Received--
			counts.Duplicate--
		}
	}
	change, err := changeTo(b.Channel, documents[0], next)
	if err != nil {
		return err
	}
	_, err = r.save(ctx, b.Channel, counts, change)
	return err
}

// reminderEntry is the payload of a reminder that is a reply.
type reminderEntry struct {
	Message int64 `json:"message"`
	At      int64 `json:"at"` // when the message was admitted
}

// reply queues a reply to the message. It uses no slot.
func (r *Reminders) reply(ctx context.Context, b *RequestBuilder, m *remindedMessage, d problem.Reminder) error {
	payload, err := json.Marshal(reminderEntry{Message: m.number, At: m.record.At})
	if err != nil {
		return fmt.Errorf("encode a reminder: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.Timeout)
	defer cancel()
	id := fmt.Sprintf("reminder:%d@%d:%d", m.number, m.record.At, d.Said)
	if err := r.opts.Outbox.Append(ctx, b.Scope(), id, store.KindReminder, payload); err != nil {
		return err
	}
	r.in.opts.Wake(b.Name)
	return nil
}

// reminderID is between the id of an event and what makes the id of its reminder unique.
const reminderID = "/reminder/"

// postAgain asks the limiter to post what still fires once more, as one message.
func (r *Reminders) postAgain(ctx context.Context, b *RequestBuilder, m *remindedMessage, d problem.Reminder) ([]store.Decision, error) {
	all := m.about()
	for i := range all {
		e := &all[i]
		id, _, _ := strings.Cut(e.ID, reminderID)
		e.ID = id + reminderID + strconv.FormatInt(m.number, 10) + "." + strconv.Itoa(d.Said) + "." + strconv.Itoa(d.Tries)
		e.Follows = id
		e.Reminder = d.Said + 1
		e.Forced = false
		e.Note = m.note(e.Note)
	}
	requests := b.admissions(all)
	policy := *b.Handling
	policy.Repeats = false // it is posted, and not counted on the message that it reminds of
	for i := range requests {
		requests[i].Policy = &policy
		requests[i].Event.Bundle = ""
		if len(requests) > 1 {
			requests[i].Event.Bundle = reminderID
		}
	}
	decisions, err := r.in.decideAll(ctx, b, r.in.opts.Limiter.Admit, requests)
	if err != nil {
		return nil, err
	}
	r.in.opts.Metrics.countReceived(all, decisions)
	r.in.limits.observe(ctx, all, decisions)
	r.in.opts.Wake(b.Name)
	return decisions, nil
}

// note is the remark of a reminder that is an event.
func (m *remindedMessage) note(before string) string {
	if _, rest, isAgain := strings.Cut(before, reminderNote); isAgain {
		_, before, _ = strings.Cut(rest, "; ")
	}
	return joinNotes(reminderNote+m.count(), before)
}

const reminderNote = "reminder: "

// composeReminder makes a job of a reminder that is a reply. There is nothing to post if the message was resolved or acknowledged
// meanwhile.
func (d *delivery) composeReminder(ctx context.Context, entry store.Entry) (job, error) {
	var of reminderEntry
	if err := json.Unmarshal(entry.Payload, &of); err != nil {
		return job{}, fmt.Errorf("decode a reminder: %w", err)
	}
	if d.opts.Reminders == nil {
		return job{}, errNothingToPost
	}
	now := entry.AdmittedAt + entry.Age.Microseconds()
	m, err := d.opts.Reminders.message(ctx, d.channel, of.Message, now)
	if err != nil {
		return job{}, outboxError{err}
	}
	if m.record == nil || m.record.At != of.At || m.record.TS == "" || m.Firing == 0 || m.Acknowledged {
		return job{}, errNothingToPost
	}
	about := m.about()
	since := time.Duration(now-m.record.At) * time.Microsecond
	j := job{events: about, message: d.channel.Renderer.Reminder(notifier.Reminder{
		Event: about[0], Firing: m.Firing, Total: m.total, Since: since,
	})}
	j.message.Thread = m.record.TS
	return j, nil
}
