package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"slackrelay/notifier"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

func isUnavailable(err error) bool {
	return errors.Is(err, ratelimit.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
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
	asked := r.in.opts.Decisions.Now()
	decisions, err := r.in.decideAll(ctx, b, r.in.opts.Limiter.Admit, requests)
	if err != nil {
		return nil, err
	}
	r.in.recordDecisions(asked, all, decisions)
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
	if m.record == nil || m.record.At != of.At || m.record.TS == "" || m.Firing == 0 || m.Acknowledged || m.Muted {
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
