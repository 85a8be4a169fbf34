package pipeline

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"slackrelay/events"
	"slackrelay/store"
)

// Run asks again for what waits for a slot, in every channel whose overflow is delayed, until ctx ends. Any number of
// replicas may do so: what one has admitted, the others find gone.
func (in *Intake) Run(ctx context.Context) {
	var channels sync.WaitGroup
	for _, ch := range in.channels {
		if ch.Handling != nil && ch.Handling.Overflow == store.OverflowDelay && in.opts.Outbox != nil {
			channels.Go(func() { in.askAgain(ctx, ch) })
		}
	}
	channels.Wait()
}

func (in *Intake) askAgain(ctx context.Context, ch *intakeChannel) {
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
				log.DebugContext(ctx, "what waits for a slot cannot be asked for", "error", err)
			}
		}
	}
}

// promote asks for the oldest of each category once, and tells whether any of them waits no more.
func (in *Intake) promote(ctx context.Context, ch *intakeChannel) (moved bool, err error) {
	listing, cancel := context.WithTimeout(ctx, in.opts.Timeout)
	defer cancel()
	waiting, err := in.opts.Outbox.Delayed(listing, ch.scope())
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	requests, all := make([]store.Request, 0, len(waiting)), make([]events.Event, 0, len(waiting))
	for _, one := range waiting {
		request, e, err := ch.again(one)
		if err != nil {
			return false, err
		}
		requests, all = append(requests, request), append(all, e)
	}
	decisions, err := in.admitOnce(ctx, ch.Channel, requests)
	if err != nil {
		return false, err
	}
	admitted := false
	for i, d := range decisions {
		moved = moved || d.Outcome != store.Delayed
		admitted = admitted || d.Outcome == store.Admitted || d.Outcome == store.Merged
		if d.Outcome != store.Delayed && d.Outcome != store.Duplicate {
			in.opts.Metrics.decided(&all[i], d, 1)
		}
	}
	if admitted {
		in.opts.Admitted(ch.Name)
	}
	return moved, nil
}

// again asks for what waits, by its first event.
func (ch *intakeChannel) again(waiting store.DelayedMessage) (store.Request, events.Event, error) {
	all, _, err := decodeEvents(waiting.Payload)
	if err != nil {
		return store.Request{}, events.Event{}, err
	}
	e := all[0]
	request := ch.request(&e)
	request.ID, request.Delayed, request.Policy, request.Event = dedupeID(e), waiting.Number, ch.Handling, ch.about(&e, "", fingerprint)
	request.Enqueue = &store.Enqueue{Kind: store.KindMessage, Payload: waiting.Payload}
	return request, e, nil
}
