package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

// freeShare is the share of the store's memory that must be free before a channel returns to a store that was full, as a
// divisor: 20 is 5 %. A store that the next admission fills again is of no use.
const freeShare = 20

// errFull is returned for a store that has memory for the next admission, and hardly for more.
var errFull = errors.New("too little of maxmemory is free")

// awaitRecovery tries the store until the outage has ended.
func (ch *channel) awaitRecovery(ctx context.Context) {
	every := ch.outage.probeEvery(ch.opts.ProbeEvery)
	for ratelimit.Sleep(ctx, every-rand.N(every/2)) == nil { //nolint:gosec // jitter is no secret
		if ch.breaker.probe(func() error { return ch.recover(ctx) }) == nil {
			return
		}
	}
}

// recover ends the outage if the store is available: what was decided here is merged into the store, by its own time and
// with the ids that it had. New requests wait meanwhile, so that none is decided here any more.
func (ch *channel) recover(ctx context.Context) error {
	if err := ch.checkStore(ctx); err != nil {
		return err
	}
	if ch.opts.FallbackOutbox != nil {
		defer ch.opts.FallbackOutbox.Resume(ch.scope)
	}
	if err := ch.collectResults(ctx); err != nil { // waits for sends in flight, while requests are still decided here
		return err
	}
	ch.outage.deciding.Lock()
	defer ch.outage.deciding.Unlock()
	if err := ch.collectResults(ctx); err != nil { // of what was admitted since; no send is in flight any more
		return err
	}
	sum := ch.emptyJournal()
	if err := ch.mergeCounts(ctx); err != nil {
		return err
	}
	now := ch.opts.Now()
	since, seeded, freed := ch.outage.end(now)
	ch.limiter.journalBytes.Add(-freed)
	ch.opts.Fallback.Forget(ch.scope, seeded)
	ch.outage.notSent.Store(false)
	ch.outage.away.Store(false)
	ch.opts.Logger.WarnContext(ctx, "back on Redis", "channel", ch.scope.Name, "policy", ch.policy(),
		"away_for", now.Sub(since).Round(time.Millisecond), "admitted_meanwhile", sum.admitted,
		"still_to_send", sum.unsent, "dead_letters", sum.dead)
	return nil
}

// checkStore returns an error unless the store can take what a recovery and the next admissions write.
func (ch *channel) checkStore(ctx context.Context) error {
	if err := ch.limiter.sendHeartbeat(ctx); err != nil { // it can be written to
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
	defer cancel()
	if _, err := ch.store.Report(ctx, ch.scope); err != nil { // and so can the shard of the channel
		return err
	}
	return ch.checkMemory(ctx) // an admission writes more than a heartbeat
}

// checkMemory returns an error where the store had no memory left, and still has too little.
func (ch *channel) checkMemory(ctx context.Context) error {
	if lua.FaultOf(ch.outage.cause()) != lua.FaultMemory {
		return nil
	}
	used, most, err := ch.store.Memory(ctx, ch.scope)
	if err != nil {
		return err
	}
	if most > 0 && used > most-most/freeShare {
		return fmt.Errorf("%w: %d of %d bytes are used", errFull, used, most)
	}
	return nil
}
