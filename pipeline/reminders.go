package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/store"
)

// Remind is when and how people are reminded of the messages of a channel that still fire.
type Remind struct {
	problem.Reminders

	InThread   bool              // a reminder is a reply to its message; otherwise it is an event of its own
	Severities []events.Severity // of which people are reminded; nil = of all
}

// Covers reports whether people are reminded of an event that is posted. A firing without a fingerprint cannot be resolved.
func (r *Remind) Covers(e *events.Event) bool {
	return r.After > 0 && e.Status == events.Firing && e.Fingerprint != "" &&
		(r.Severities == nil || slices.Contains(r.Severities, e.Severity))
}

// ReminderOutbox is the part of an outbox that [Reminders] call. See [store.Queue].
type ReminderOutbox interface {
	NoticeQueue
	PostedMessage(ctx context.Context, channel store.Channel, number int64) (*store.PostedMessage, error)
}

// ReminderOptions configure [Reminders]. Intake, Store and Outbox are needed:
//
//	reminders := pipeline.NewReminders(pipeline.ReminderOptions{Intake: intake, Store: redis, Outbox: redis})
type ReminderOptions struct {
	Intake *Intake // admits reminders that are events, and knows the channels and the silences
	Store  ProblemStore
	Outbox ReminderOutbox // of the messages
	// Timeout bounds one call of the store. Default 2 s.
	Timeout time.Duration
}

// Reminders remind people of messages whose alerts still fire and that nobody acknowledged. Each message has a document in the
// store, made before the message is posted, so that each reminder is made once over all replicas. Package problem decides when.
type Reminders struct {
	opts ReminderOptions
	in   *Intake
}

// NewReminders returns Reminders.
func NewReminders(opts ReminderOptions) *Reminders {
	opts.Timeout = cmp.Or(opts.Timeout, 2*time.Second)
	return &Reminders{opts: opts, in: opts.Intake}
}

// ReminderDocuments is the owner of the documents of messages, for [ProblemWork].
const ReminderDocuments = "message"

// messageDocument is the name of the document of a message.
func messageDocument(number int64) string {
	return ReminderDocuments + "/" + strconv.FormatInt(number, 10)
}

// errNoMessage is returned for the document of a message whose name is not one.
var errNoMessage = errors.New("the document is of no message")

func numberOf(document string) (int64, error) {
	number, err := strconv.ParseInt(strings.TrimPrefix(document, ReminderDocuments+"/"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", document, errNoMessage)
	}
	return number, nil
}

// expect makes the document of a message that is posted now, unless an earlier attempt to post it did. It takes over the document of
// an earlier message of the same alert.
func (r *Reminders) expect(ctx context.Context, ch *Channel, entry *store.Entry, all []events.Event) error {
	said := 0
	covered := false
	for i := range all {
		covered = covered || ch.Remind.Covers(&all[i])
		said = max(said, all[i].Reminder)
	}
	if !covered || entry.Kind != string(store.KindMessage) {
		return nil
	}
	record, err := r.record(ctx, ch, entry.Number)
	if err != nil || record == nil {
		return err
	}
	names := []string{messageDocument(entry.Number)}
	for _, number := range record.Earlier {
		names = append(names, ReminderDocuments+"/"+number)
	}
	for range problemTries {
		now, documents, err := r.load(ctx, ch, names...)
		if err != nil {
			return err
		}
		if documents[0].Version != 0 {
			return nil
		}
		changes, err := r.newDocument(ctx, ch, documents, record, said, now)
		if err != nil {
			return err
		}
		if saved, err := r.save(ctx, ch, store.ProblemCounts{}, changes...); saved || err != nil {
			return err
		}
	}
	return errChanging
}

// newDocument returns the changes that make the document of a message, the first one, and delete those that it takes over.
func (r *Reminders) newDocument(
	ctx context.Context, ch *Channel, documents []store.Problem, record *store.PostedMessage, said int, now int64,
) ([]store.ProblemChange, error) {
	d := ch.Remind.Expect(now)
	if said > 0 {
		d = ch.Remind.Continue(problem.Reminder{}, said, now)
	}
	var changes []store.ProblemChange
	for _, document := range documents[1:] {
		if document.Version == 0 {
			continue
		}
		replaced, err := r.replaces(ctx, ch, record, document.Name)
		if err != nil {
			return nil, err
		}
		if !replaced && said == 0 {
			continue
		}
		earlier, err := problem.DecodeReminder(document.Data)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", document.Name, err)
		}
		d = ch.Remind.Continue(earlier, said, now)
		changes = append(changes, store.ProblemChange{Name: document.Name, Version: document.Version})
	}
	made, err := changeTo(ch, documents[0], d)
	return append(changes, made), err
}

// replaces reports whether a message reports all alerts that an earlier one reports as firing.
func (r *Reminders) replaces(ctx context.Context, ch *Channel, record *store.PostedMessage, document string) (bool, error) {
	number, err := numberOf(document)
	if err != nil {
		return false, err
	}
	earlier, err := r.record(ctx, ch, number)
	if err != nil || earlier == nil {
		return earlier == nil, err
	}
	reported := map[string]bool{}
	for fingerprint := range record.Firing() {
		reported[fingerprint] = true
	}
	for fingerprint := range earlier.Firing() {
		if !reported[fingerprint] {
			return false, nil
		}
	}
	return earlier.Untracked == 0, nil
}

func (r *Reminders) record(ctx context.Context, ch *Channel, number int64) (*store.PostedMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	return r.opts.Outbox.PostedMessage(ctx, ch.Scope(), number)
}

func (r *Reminders) load(ctx context.Context, ch *Channel, names ...string) (now int64, all []store.Problem, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	return r.opts.Store.Problems(ctx, ch.Scope(), names)
}

func (r *Reminders) save(
	ctx context.Context, ch *Channel, counts store.ProblemCounts, changes ...store.ProblemChange,
) (saved bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	return r.opts.Store.SaveProblems(ctx, ch.Scope(), changes, counts)
}

// changeTo returns the change of a document to d.
func changeTo(ch *Channel, document store.Problem, d problem.Reminder) (store.ProblemChange, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return store.ProblemChange{}, fmt.Errorf("encode document %s: %w", document.Name, err)
	}
	return store.ProblemChange{
		Name: document.Name, Version: document.Version, Data: data, Wake: d.Wakes(), Keep: ch.Handling.RememberFor(),
	}, nil
}

// expectReminder makes the document of a message that is about to be posted; a transition ends the attempt.
func (d *delivery) expectReminder(ctx context.Context, entry store.Entry, j *job) *transition {
	if d.opts.Reminders == nil || d.channel.Remind.After == 0 || d.channel.Handling == nil {
		return nil
	}
	err := d.opts.Reminders.expect(ctx, d.channel, &entry, j.events)
	switch {
	case err == nil:
		return nil
	case isUnavailable(err):
		return d.afterCompose(entry, outboxError{err})
	default:
		d.log.WarnContext(ctx, "nobody is reminded of a message", "number", entry.Number, "error", err)
		return nil
	}
}
