package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"slackrelay/store"
)

// counts are what this process decided by itself and Redis does not know yet. They are folded into the shared
// ledger in parcels with a sequence: one that was taken in before changes nothing, so that a parcel whose fate
// is unknown is simply sent again. Parcels of a channel go one after the other.
type counts struct {
	mu         sync.Mutex
	totals     map[string]int64
	categories map[string]int64 // dropped
	noted      map[string]int64 // for the digest, bounded
	record     record
	learn      bool
	returning  []store.Request // admitted by the fallback, to be taken in
	scheduled  bool

	sending  sync.Mutex
	sequence int64
	parcel   *parcel // sent, but not known to have arrived
}

type parcel struct {
	fold    store.MergeID
	restore []store.Request
	drops   store.LocalCounts
}

// count notes a decision of this process, and has it folded soon.
func (ch *channel) count(r *store.Request, d *store.Decision) {
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	ch.counts.add(r, d.Outcome, 1)
	if d.Outcome != store.Duplicate {
		ch.counts.record.keep(r, d)
	}
	ch.schedule()
}

// countClosed notes what the closed-until cache refused.
func (ch *channel) countClosed(requests []store.Request, decisions []store.Decision) {
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	for i := 0; i < len(requests); {
		n := i
		for i++; i < len(requests) && countsAs(&requests[i], &requests[n]) && decisions[i].DecidedBy == decisions[n].DecidedBy; i++ {
			continue
		}
		if decisions[n].DecidedBy != store.ByClosedCache {
			continue
		}
		ch.counts.add(&requests[n], store.Dropped, int64(i-n))
		for one := n; one < i; one++ {
			ch.counts.record.keep(&requests[one], &decisions[one])
		}
	}
	ch.schedule()
}

// countsAs tells whether two drops are one count.
func countsAs(r *store.Request, other *store.Request) bool {
	return r.Category == other.Category && r.Event.Severity == other.Event.Severity && r.Event.Title == other.Event.Title
}

// begin makes the maps of a parcel. The caller holds the lock.
func (c *counts) begin() {
	if c.totals == nil {
		c.totals, c.categories, c.noted = map[string]int64{}, map[string]int64{}, map[string]int64{}
	}
}

// add counts requests of one category. The caller holds the lock.
func (c *counts) add(r *store.Request, o store.Outcome, n int64) {
	c.begin()
	c.totals["received"] += n
	c.learn = c.learn || r.Fairness.Enabled() && r.Fairness.FirstNotice.Auto
	if o == store.Duplicate {
		c.totals["duplicate"] += n
		return
	}
	c.totals["dropped"] += n
	category := r.Category
	if _, ok := c.categories[category]; !ok && len(c.categories) >= store.MaxCategories {
		category = store.OtherCategory
	}
	c.categories[category] += n
	if r.Policy == nil || !r.Policy.Digest {
		return
	}
	r.AddDigestCounts(c.noted, n)
}

// schedule has the counts folded after a while. The caller holds the lock.
func (ch *channel) schedule() {
	if ch.counts.scheduled {
		return
	}
	ch.counts.scheduled = true
	ch.inBackground(func(ctx context.Context) {
		sleepErr := store.Sleep(ctx, ch.stretch(ch.opts.FoldEvery))
		ch.counts.mu.Lock()
		ch.counts.scheduled = false
		ch.counts.mu.Unlock()
		if sleepErr != nil || ch.outage.down() {
			return // Close folds, or the return of Redis
		}
		if err := ch.MergeCounts(ctx); err != nil {
			ch.opts.Logger.WarnContext(ctx, "drops are not counted in Redis yet; they are folded in later",
				"channel", ch.scope.Name, "error", err)
			ch.counts.mu.Lock()
			ch.schedule()
			ch.counts.mu.Unlock()
		}
	})
}

// fold sends what was counted before, in order. What is counted meanwhile goes with the next fold: a storm
// would keep this one busy for ever.
func (ch *channel) MergeCounts(ctx context.Context) error {
	ch.counts.sending.Lock()
	defer ch.counts.sending.Unlock()
	for last := false; !last; {
		inDoubt := ch.counts.parcel != nil
		p := ch.counts.next(ch.opts.Replica)
		if p == nil {
			return nil
		}
		if err := ch.send(ctx, p); err != nil {
			p.shrink(err)
			return fmt.Errorf("fold %d: %w", p.fold.Sequence, err)
		}
		ch.counts.parcel = nil
		last = !inDoubt && len(p.restore) == 0
	}
	return nil
}

// shrink makes a parcel smaller that was sent and not answered: what it tells the record of is left out by and by, so that it
// arrives some time. What it counts stays.
func (p *parcel) shrink(err error) {
	if !errors.Is(err, store.ErrNotSent) {
		p.drops.Drops = p.drops.Drops[(len(p.drops.Drops)+1)/2:]
	}
}

func (ch *channel) send(ctx context.Context, p *parcel) error {
	ctx, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
	defer cancel()
	if len(p.restore) > 0 {
		return ch.engine.Restore(ctx, ch.scope, asOf(ch.opts.Now(), p.restore), p.fold)
	}
	return ch.engine.MergeCounts(ctx, ch.scope, p.fold, p.drops)
}

// next is the parcel to send now: the one in doubt, else what came back from an outage, else the drops.
func (c *counts) next(replica string) *parcel {
	if c.parcel != nil {
		return c.parcel
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := parcelOf(c.returning); {
	case n > 0:
		c.parcel = &parcel{restore: c.returning[:n:n]}
		c.returning = c.returning[n:]
	case len(c.totals) > 0:
		c.parcel = &parcel{drops: store.LocalCounts{Totals: c.totals, Categories: c.categories, LearnCategories: c.learn, DigestCounts: c.noted}}
		c.parcel.drops.Drops, c.parcel.drops.KeepDrops = c.record.Take()
		c.totals, c.categories, c.noted, c.learn = nil, nil, nil, false
	default:
		return nil
	}
	c.sequence++
	c.parcel.fold = store.MergeID{Replica: replica, Sequence: c.sequence}
	return c.parcel
}

// maxRestored is how many bytes of messages one parcel takes in.
const maxRestored = 256 << 10

// parcelOf is how many of what came back from an outage one parcel takes in: what was admitted under one configuration, and
// not what was admitted after another came into effect.
func parcelOf(returning []store.Request) (n int) {
	for bytes := 0; n < min(len(returning), store.MaxBatch); n++ {
		bytes += len(returning[n].Payload())
		if n > 0 && (bytes > maxRestored || !batchable(&returning[n], &returning[0])) {
			break
		}
	}
	return n
}

// Flush folds everything that this process decided by itself into Redis.
func (s *Limiter) Flush(ctx context.Context) error {
	for _, ch := range s.all() {
		if ch.outage.down() {
			continue
		}
		if err := ch.MergeCounts(ctx); err != nil {
			return fmt.Errorf("channel %s: %w", ch.scope.Name, err)
		}
	}
	return nil
}

// closeTimeout bounds the last fold.
const closeTimeout = 5 * time.Second

// Close stops what runs in the background, and folds what is left.
func (s *Limiter) Close(ctx context.Context) error {
	s.cancel()
	s.background.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := s.Flush(ctx)
	s.lostAtClose(ctx)
	s.farewell(ctx)
	return err
}
