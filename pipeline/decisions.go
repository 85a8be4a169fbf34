package pipeline

import (
	"time"

	"slackrelay/decisionlog"
	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

// recordDecisions writes the decisions on events to the decision log. asked is when the limiter was asked: before that, nothing can
// become of the events.
func (in *Intake) recordDecisions(asked time.Time, all []events.Event, decisions []store.Decision) {
	if in.opts.Decisions == nil {
		return
	}
	for i := range decisions {
		d := &decisions[i]
		line := lineOf(asked, &all[i], outcomeOf(d))
		line.Reason = d.Outcome.Reason()
		line.DecidedBy = string(d.DecidedBy)
		if d.Outcome == store.Dropped {
			line.Level = d.Level
			line.RetryAfter = secondsOf(d.RetryAfter)
		}
		in.opts.Decisions.Record(line)
	}
}

// recordOutcome writes the outcome of an event that no limiter decided about to the decision log.
func (in *Intake) recordOutcome(asked time.Time, e *events.Event, outcome store.Outcome, by string) {
	if in.opts.Decisions == nil {
		return
	}
	line := lineOf(asked, e, outcome.String())
	line.By = by
	in.opts.Decisions.Record(line)
}

// recordUnheld writes the events that waited and are muted now to the decision log.
func (b *problemBatch) recordUnheld() {
	in := b.p.in
	for _, one := range b.unheld {
		if in.opts.Decisions == nil {
			return
		}
		if e, err := decodeKept(one.data); err == nil {
			e.ID = one.id
			in.recordOutcome(in.opts.Decisions.Now(), &e, store.Muted, one.by)
		}
	}
}

// fate is what became of an entry.
type fate struct {
	outcome  string
	reason   string // of a failure
	attempts int64
	receipt  notifier.Receipt
}

// recordFate writes what became of the events of an entry to the decision log.
func (d *delivery) recordFate(entry store.Entry, all []events.Event, became fate) {
	if d.opts.Decisions == nil {
		return
	}
	for i := range all {
		line := lineOf(d.opts.Decisions.Now(), &all[i], became.outcome)
		line.Channel = d.channel.Name
		line.Reason = became.reason
		line.Entry, line.Kind = entry.Number, entry.Kind
		line.Attempts = became.attempts
		line.Age = secondsOf(entry.Age)
		line.Slack, line.TS = became.receipt.Channel, became.receipt.TS
		d.opts.Decisions.Record(line)
	}
}

// lineOf returns a line about an event.
func lineOf(at time.Time, e *events.Event, outcome string) decisionlog.Record {
	return decisionlog.Record{
		At: at, Outcome: outcome, Channel: e.Channel, ID: e.ID, Category: e.Category, Severity: string(e.Severity),
		Status: string(e.Status), Source: e.Source, Sender: e.Sender, Forced: e.Forced, ReplayOf: e.ReplayOf,
	}
}
