package replica

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"slackrelay/store"
)

// recover tries Redis until it is back.
func (ch *channel) recover(ctx context.Context) {
	every := ch.outage.probeEvery(ch.opts.ProbeEvery)
	for store.Sleep(ctx, every-rand.N(every/2)) == nil { //nolint:gosec // jitter is no secret
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
	if err := ch.roomy(readable); err != nil { // and what an admission writes, which is more than the beat
		return err
	}
	if ch.opts.Unsent != nil {
		defer ch.opts.Unsent.Resume(ch.scope)
	}
	if err := ch.takeBack(ctx); err != nil { // waits for what is being sent, while requests are still decided here
		return err
	}
	ch.outage.deciding.Lock()
	defer ch.outage.deciding.Unlock()
	if err := ch.takeBack(ctx); err != nil { // what came since; nothing is being sent any more
		return err
	}
	admitted, unsent, dead := ch.packJournal()
	if err := ch.MergeCounts(ctx); err != nil {
		return err
	}
	ch.outage.mu.Lock()
	levels := make([]string, 0, len(ch.outage.seeded))
	for key := range ch.outage.seeded {
		levels = append(levels, key)
	}
	since := ch.outage.since
	ch.journals.Add(-ch.outage.bytes)
	ch.outage.bytes = 0
	ch.outage.back = ch.opts.Now()
	ch.outage.mu.Unlock()
	ch.local.Forget(ch.scope, levels)
	ch.outage.notSent.Store(false)
	ch.outage.away.Store(false)
	ch.opts.Logger.WarnContext(ctx, "back on Redis", "channel", ch.scope.Name, "policy", ch.effective(),
		"away_for", ch.opts.Now().Sub(since).Round(time.Millisecond), "admitted_meanwhile", admitted, "still_to_send", unsent, "dead_letters", dead)
	return nil
}

// takeBack stops sending what the fallback admitted, and notes what became of it.
func (ch *channel) takeBack(ctx context.Context) error {
	if ch.opts.Unsent == nil {
		return nil
	}
	pasts, err := ch.opts.Unsent.TakeBack(ctx, ch.scope)
	if err != nil {
		return fmt.Errorf("take back what was not sent: %w", err)
	}
	at := ch.opts.Now()
	ch.outage.mu.Lock()
	defer ch.outage.mu.Unlock()
	for number, past := range pasts {
		ch.outage.pasts[number] = store.AgedResult{OutageResult: past, At: at}
	}
	return nil
}

// packJournal makes parcels of what the fallback admitted, each with what became of it: what waits goes on in the shared
// outbox, and what is dead is dead there too.
func (ch *channel) packJournal() (admitted, unsent, dead int) {
	ch.outage.mu.Lock()
	defer ch.outage.mu.Unlock()
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	for _, j := range ch.outage.journal {
		past, known := ch.outage.pasts[j.number]
		if !known {
			past = store.AgedResult{OutageResult: store.OutageResult{Result: store.Delivered}, At: ch.opts.Now()}
		}
		admitted++
		switch {
		case past.Result == "":
			unsent++
		case past.Result == store.Failed:
			dead++
		case past.TS == "":
			j.request.Enqueue = nil // nothing will be said on it
		}
		j.request.Result = &past
		ch.counts.returning = append(ch.counts.returning, j.request)
	}
	ch.outage.journal = nil
	clear(ch.outage.pasts)
	return admitted, unsent, dead
}

// asOf are requests to be taken in now, with their pasts as they are seen now.
func asOf(now time.Time, requests []store.Request) []store.Request {
	current := slices.Clone(requests)
	for i := range current {
		if past := current[i].Result; past != nil {
			current[i].Result = &store.AgedResult{OutageResult: past.After(now.Sub(past.At)), At: now}
		}
	}
	return current
}
