package pipeline

import (
	"context"

	"slackrelay/events"
	"slackrelay/store"
)

// Promote asks for slots for the delayed messages of a channel, until none gets one: also of a channel that no longer delays
// its overflow. Any number of replicas may call it: a message that one of them admitted is gone for the others.
func (in *Intake) Promote(ctx context.Context, channel string) {
	ch := in.channel(channel)
	if ch == nil || ch.Handling == nil || in.opts.Outbox == nil {
		return
	}
	for moved := true; moved && ctx.Err() == nil; {
		var err error
		if moved, err = in.promote(ctx, ch); err != nil {
			in.opts.Logger.DebugContext(ctx, "delayed messages could not be asked for", "channel", channel, "error", err)
		}
	}
}

// promote asks once for a slot for the oldest delayed message of each category, and reports whether any of them is no longer
// delayed.
func (in *Intake) promote(ctx context.Context, ch *RequestBuilder) (moved bool, err error) {
	listing, cancel := context.WithTimeout(ctx, in.opts.Timeout)
	defer cancel()
	waiting, err := in.opts.Outbox.Delayed(listing, ch.Scope())
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	requests := make([]store.Request, len(waiting))
	firsts := make([]events.Event, len(waiting))
	for i, one := range waiting {
		requests[i], firsts[i] = ch.promotion(one)
	}
	asked := in.opts.Decisions.Now()
	decisions, err := in.decideBatch(ctx, ch, in.opts.Limiter.Promote, requests)
	if err != nil {
		return false, err
	}
	queued := false
	for i, d := range decisions {
		moved = moved || d.Outcome != store.Delayed
		queued = queued || d.Outcome == store.Admitted || d.Outcome == store.Merged
		if d.Outcome != store.Delayed && d.Outcome != store.Duplicate {
			in.opts.Metrics.countDecided(&firsts[i], &d, 1)
			in.recordDecisions(asked, firsts[i:i+1], decisions[i:i+1])
		}
	}
	if queued {
		in.opts.Wake(ch.Name)
	}
	return moved, nil
}
