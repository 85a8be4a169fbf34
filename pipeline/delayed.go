package pipeline

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"slackrelay/events"
	"slackrelay/store"
)

// Run asks for a slot for delayed messages, in every channel that delays its overflow, until ctx ends. Any number of
// replicas may run it: a message that one of them admitted is gone for the others.
func (in *Intake) Run(ctx context.Context) {
	var channels sync.WaitGroup
	for _, ch := range in.channels {
		if ch.Handling != nil && ch.Handling.Overflow == store.OverflowDelay && in.opts.Outbox != nil {
			channels.Go(func() { in.runPromotions(ctx, ch) })
		}
	}
	channels.Wait()
}

func (in *Intake) runPromotions(ctx context.Context, ch *RequestBuilder) {
	log := in.opts.Logger.With("channel", ch.Name)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(in.opts.AskEvery - rand.N(in.opts.AskEvery/4)): //nolint:gosec // jitter is no secret
		}
		for moved := true; moved && ctx.Err() == nil; {
			var err error
			if moved, err = in.promote(ctx, ch); err != nil {
				log.DebugContext(ctx, "delayed messages could not be asked for", "error", err)
			}
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
		if requests[i], firsts[i], err = ch.promotion(one); err != nil {
			return false, err
		}
	}
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
		}
	}
	if queued {
		in.opts.Wake(ch.Name)
	}
	return moved, nil
}
