package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
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
	returning  []Request // admitted by the fallback, to be taken in
	scheduled  bool

	sending  sync.Mutex
	sequence int64
	parcel   *parcel // sent, but not known to have arrived
}

type parcel struct {
	fold    fold
	restore []Request
	drops   drops
}

// otherCategory takes what exceeds the number of categories in one parcel.
const otherCategory = "other"

// count notes a decision of this process, and has it folded soon.
func (ch *channel) count(r *Request, d *Decision) {
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	ch.counts.add(r, d.Outcome, 1)
	if d.Outcome != Duplicate {
		ch.counts.record.keep(r, d)
	}
	ch.schedule()
}

// countClosed notes what the closed-until cache refused.
func (ch *channel) countClosed(requests []Request, decisions []Decision) {
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	for i := 0; i < len(requests); {
		n := i
		for i++; i < len(requests) && countsAs(&requests[i], &requests[n]) && decisions[i].DecidedBy == decisions[n].DecidedBy; i++ {
			continue
		}
		if decisions[n].DecidedBy != ByClosedCache {
			continue
		}
		ch.counts.add(&requests[n], Dropped, int64(i-n))
		for one := n; one < i; one++ {
			ch.counts.record.keep(&requests[one], &decisions[one])
		}
	}
	ch.schedule()
}

// countsAs tells whether two drops are one count.
func countsAs(r *Request, other *Request) bool {
	return r.Category == other.Category && r.Event.Severity == other.Event.Severity && r.Event.Title == other.Event.Title
}

// Bounds of what one parcel tells a digest: titles must not crowd out counts.
const (
	maxNoted  = 1000
	maxTitled = 100
)

// begin makes the maps of a parcel. The caller holds the lock.
func (c *counts) begin() {
	if c.totals == nil {
		c.totals, c.categories, c.noted = map[string]int64{}, map[string]int64{}, map[string]int64{}
	}
}

// add counts requests of one category. The caller holds the lock.
func (c *counts) add(r *Request, o Outcome, n int64) {
	c.begin()
	c.totals["received"] += n
	c.learn = c.learn || r.Fairness.on() && r.Fairness.FirstNotice.Auto
	if o == Duplicate {
		c.totals["duplicate"] += n
		return
	}
	c.totals["dropped"] += n
	category := r.Category
	if _, ok := c.categories[category]; !ok && len(c.categories) >= maxCategories {
		category = otherCategory
	}
	c.categories[category] += n
	if r.Handling == nil || !r.Handling.Digest {
		return
	}
	r.noteOf(c.noted, n)
}

// schedule has the counts folded after a while. The caller holds the lock.
func (ch *channel) schedule() {
	if ch.counts.scheduled {
		return
	}
	ch.counts.scheduled = true
	ch.inBackground(func(ctx context.Context) {
		sleepErr := sleep(ctx, ch.stretch(ch.opts.FoldEvery))
		ch.counts.mu.Lock()
		ch.counts.scheduled = false
		ch.counts.mu.Unlock()
		if sleepErr != nil || ch.outage.down() {
			return // Close folds, or the return of Redis
		}
		if err := ch.fold(ctx); err != nil {
			ch.opts.Logger.WarnContext(ctx, "drops are not counted in Redis yet; they are folded in later",
				"channel", ch.scope.Channel, "error", err)
			ch.counts.mu.Lock()
			ch.schedule()
			ch.counts.mu.Unlock()
		}
	})
}

// fold sends what was counted before, in order. What is counted meanwhile goes with the next fold: a storm
// would keep this one busy for ever.
func (ch *channel) fold(ctx context.Context) error {
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
			return fmt.Errorf("fold %d: %w", p.fold.sequence, err)
		}
		ch.counts.parcel = nil
		last = !inDoubt && len(p.restore) == 0
	}
	return nil
}

// shrink makes a parcel smaller that was sent and not answered: what it tells the record of is left out by and by, so that it
// arrives some time. What it counts stays.
func (p *parcel) shrink(err error) {
	if !errors.Is(err, errNotSent) {
		p.drops.kept = p.drops.kept[(len(p.drops.kept)+1)/2:]
	}
}

func (ch *channel) send(ctx context.Context, p *parcel) error {
	ctx, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
	defer cancel()
	if len(p.restore) > 0 {
		return ch.engine.restore(ctx, ch.scope, asOf(ch.opts.Now(), p.restore), p.fold)
	}
	return ch.engine.fold(ctx, ch.scope, p.fold, p.drops)
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
		c.parcel = &parcel{drops: drops{totals: c.totals, categories: c.categories, learn: c.learn, noted: c.noted}}
		c.parcel.drops.kept, c.parcel.drops.keep = c.record.take()
		c.totals, c.categories, c.noted, c.learn = nil, nil, nil, false
	default:
		return nil
	}
	c.sequence++
	c.parcel.fold = fold{replica: replica, sequence: c.sequence}
	return c.parcel
}

// maxRestored is how many bytes of messages one parcel takes in.
const maxRestored = 256 << 10

// parcelOf is how many of what came back from an outage one parcel takes in: what was admitted under one configuration, and
// not what was admitted after another came into effect.
func parcelOf(returning []Request) (n int) {
	for bytes := 0; n < min(len(returning), MaxBatch); n++ {
		bytes += len(returning[n].payload())
		if n > 0 && (bytes > maxRestored || !batchable(&returning[n], &returning[0])) {
			break
		}
	}
	return n
}

// Flush folds everything that this process decided by itself into Redis.
func (s *Shared) Flush(ctx context.Context) error {
	for _, ch := range s.all() {
		if ch.outage.down() {
			continue
		}
		if err := ch.fold(ctx); err != nil {
			return fmt.Errorf("channel %s: %w", ch.scope.Channel, err)
		}
	}
	return nil
}

// closeTimeout bounds the last fold.
const closeTimeout = 5 * time.Second

// Close stops what runs in the background, and folds what is left.
func (s *Shared) Close(ctx context.Context) error {
	s.cancel()
	s.background.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := s.Flush(ctx)
	s.lostAtClose(ctx)
	s.farewell(ctx)
	return err
}
