package simulation

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// relay plays a trace as relay serve would, with one channel.
type relay struct {
	channel *pipeline.Channel
	scope   store.Channel
	now     time.Time
	data    *memory.Data
	store   *observedStore
	intake  *pipeline.Intake
	courier *pipeline.Courier
	tally   *tally
	// heartbeats are those of the channel.
	heartbeats *heartbeats
	// rested is until when the courier rests after it delivered, unless it is woken.
	rested time.Time

	webhook []events.Event    // is used again for each
	works   []store.TimedWork // likewise
}

func newRelay(setting *Setting, t *tally) *relay {
	channel := setting.Channel
	channel.Sender = setting.slack
	if channel.Sender == nil {
		channel.Sender = slackOf(setting.Edits)
	}
	channel.Fallback = nil
	channel.Rules = nil
	if channel.Handling != nil {
		handling := *channel.Handling
		handling.KeepDrops = 0 // nobody looks at them
		channel.Handling = &handling
	}
	r := &relay{channel: &channel, scope: channel.Scope(), now: Start, tally: t}
	r.data = memory.NewData(memory.DataOptions{Now: func() time.Time { return r.now }})
	r.store = &observedStore{
		Store: memory.New(r.data, memory.Options{Options: store.Options{Owner: "simulation"}}),
		tally: t, now: func() time.Duration { return r.now.Sub(Start) },
	}
	r.heartbeats = newHeartbeats(setting.Heartbeats, channel.Name, func() int64 { return r.now.UnixMicro() })
	metrics := pipeline.NewMetrics(nil)
	channels := []pipeline.Channel{channel}
	r.intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: r.store, Channels: channels, Metrics: metrics, Outbox: r.store,
		Wake: func(string) { r.rested = Start }, Now: func() time.Time { return r.now },
		Problems: r.store, Inhibitions: setting.Inhibitions, Heartbeats: r.heartbeats,
	})
	reminders := pipeline.NewReminders(pipeline.ReminderOptions{Intake: r.intake, Store: r.store, Outbox: r.store})
	work := r.intake.ProblemWork(r.store)
	work.Handlers[pipeline.ReminderDocuments] = reminders.Wakeup
	r.courier = pipeline.NewCourier(pipeline.CourierOptions{
		Outbox: r.store, Channels: channels, Limiter: r.store, Promote: r.intake.Promote, Problems: work, Reminders: reminders,
		Metrics: metrics, Logger: slog.New(slog.DiscardHandler),
	})
	return r
}

// admit implements [player].
func (r *relay) admit(ctx context.Context, webhook Trace, place int) error {
	at := Start.Add(webhook[0].At)
	if err := r.workUntil(ctx, at); err != nil {
		return err
	}
	r.now = at
	r.webhook = r.webhook[:0]
	for i := range webhook {
		r.tally.receive(&webhook[i], webhook[0].At)
		r.webhook = append(r.webhook, webhook[i].decoded(place+i))
	}
	arrival := pipeline.Arrival{Channel: r.channel.Name, Sender: webhook[0].Sender, Events: r.webhook}
	receipt, err := r.intake.Admit(ctx, arrival)
	if err != nil {
		return err
	}
	for i := range r.webhook {
		r.tally.problems.note(&r.webhook[i], webhook[0].At, &receipt.Events[i])
	}
	if err := r.announce(ctx); err != nil {
		return err
	}
	return r.workUntil(ctx, at)
}

// decoded returns the event as a webhook would contain it. place makes its id unique where the trace has none.
func (e *Event) decoded(place int) events.Event {
	id := e.ID
	if id == "" {
		id = "#" + strconv.Itoa(place)
	}
	return events.Event{
		ID: id, Source: "generic", Category: e.Category, Severity: e.Severity, Status: e.Status,
		Title: cmp.Or(e.Fingerprint, e.Category), Labels: e.Labels, Fingerprint: e.Fingerprint, Group: e.Group,
	}
}

// afterwards is how long a simulation goes on after the last event.
const afterwards = 31 * 24 * time.Hour

// finish implements [player].
func (r *relay) finish(ctx context.Context) error {
	r.heartbeats.end()
	if err := r.workUntil(ctx, r.now.Add(afterwards)); err != nil {
		return err
	}
	report, err := r.store.Report(ctx, r.scope)
	if err != nil {
		return err
	}
	r.tally.total(report.Ledger)
	return nil
}

// maxStuck is how often work may be due at one instant.
const maxStuck = 1_000_000

// workUntil does all work that is due until a time, each at its time.
func (r *relay) workUntil(ctx context.Context, until time.Time) error {
	for n := 0; ; n++ {
		next, at := r.next()
		if due := r.heartbeats.due(); !due.IsZero() && !due.After(until) && (next.Kind == "" || due.Before(at)) {
			if err := r.checkHeartbeats(ctx, due); err != nil {
				return err
			}
			continue
		}
		if next.Kind == "" || at.After(until) {
			return ctx.Err()
		}
		if at.After(r.now) {
			r.now = at
			n = 0
		}
		if n > maxStuck {
			return fmt.Errorf("work %q stays due", next.Kind)
		}
		if rest := r.courier.Work(ctx, next); next.Kind == store.WorkSend {
			r.rested = r.now.Add(rest)
		}
	}
}

// lookAfter is how long after its time a document is looked at: those of a webhook, which wake a microsecond after each other, are
// looked at together.
const lookAfter = time.Millisecond

// next returns the work that is due first, and when; its kind is "" where there is none. Of two at one time the courier sends first:
// an admission wakes it, and it looks for the rest a little later.
func (r *relay) next() (next store.Work, at time.Time) {
	r.works = r.data.DueOf(r.scope, r.works[:0])
	for _, work := range r.works {
		due := time.UnixMicro(work.At).UTC()
		if work.Kind == store.WorkSend && due.Before(r.rested) {
			due = r.rested
		}
		if work.Kind == store.WorkProblem {
			due = due.Add(lookAfter)
		}
		if next.Kind == "" || due.Before(at) || due.Equal(at) && work.Kind == store.WorkSend {
			next = work.Work
			at = due
		}
	}
	return next, at
}
