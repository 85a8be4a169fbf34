package ratelimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// recover tries Redis until it is back.
func (ch *channel) recover(ctx context.Context) {
	for sleep(ctx, ch.opts.ProbeEvery-rand.N(ch.opts.ProbeEvery/2)) == nil { //nolint:gosec // jitter is no secret
		if ch.breaker.probe(func() error { return ch.comeBack(ctx) }) == nil {
			return
		}
	}
}

// comeBack ends an outage: what was decided here is folded back, with Redis's time and the ids it had. New
// requests wait meanwhile, so that none is decided here any more.
func (ch *channel) comeBack(ctx context.Context) error {
	if err := ch.beat(ctx); err != nil { // it can be written to
		return err
	}
	readable, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
	defer cancel()
	if _, err := ch.engine.Report(readable, ch.scope); err != nil { // and so can be the shard of the channel
		return err
	}
	ch.outage.deciding.Lock()
	defer ch.outage.deciding.Unlock()
	if ch.opts.Unsent != nil {
		defer ch.opts.Unsent.Resume(ch.scope)
	}
	admitted, unsent, err := ch.takeBack(ctx)
	if err != nil {
		return err
	}
	if err := ch.fold(ctx); err != nil {
		return err
	}
	ch.outage.mu.Lock()
	levels := make([]string, 0, len(ch.outage.seeded))
	for key := range ch.outage.seeded {
		levels = append(levels, key)
	}
	since := ch.outage.since
	ch.outage.mu.Unlock()
	ch.local.forget(ch.scope, levels)
	ch.outage.notSent.Store(false)
	ch.outage.away.Store(false)
	ch.opts.Logger.WarnContext(ctx, "back on Redis", "channel", ch.scope.Channel, "policy", ch.effective(),
		"away_for", ch.opts.Now().Sub(since).Round(time.Millisecond), "admitted_meanwhile", admitted, "still_to_send", unsent)
	return nil
}

// takeBack makes parcels of what the fallback admitted: what was not sent yet goes into the shared outbox.
func (ch *channel) takeBack(ctx context.Context) (admitted, unsent int, err error) {
	waiting := map[int64]bool{}
	if ch.opts.Unsent != nil {
		numbers, err := ch.opts.Unsent.TakeBack(ctx, ch.scope)
		if err != nil {
			return 0, 0, fmt.Errorf("take back what was not sent: %w", err)
		}
		for _, number := range numbers {
			waiting[number] = true
		}
	}
	ch.outage.mu.Lock()
	journal := ch.outage.journal
	ch.outage.journal = nil
	ch.outage.mu.Unlock()
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	for _, j := range journal {
		if !waiting[j.number] {
			j.request.Enqueue = nil
		} else {
			unsent++
		}
		ch.counts.returning = append(ch.counts.returning, j.request)
	}
	return len(journal), unsent, nil
}
