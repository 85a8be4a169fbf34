package memory

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Admit implements [Limiter].
func (m *Store) Admit(ctx context.Context, scope store.Channel, requests []store.Request) ([]store.Decision, error) {
	if err := store.Check(requests); err != nil {
		return nil, err
	}
	answer, err := m.Decide(ctx, store.ModeAdmit, scope, requests)
	return answer.Decisions, err
}

// Peek implements [Limiter].
func (m *Store) Peek(ctx context.Context, scope store.Channel, requests []store.Request) ([]store.Decision, error) {
	if err := store.Check(requests); err != nil {
		return nil, err
	}
	answer, err := m.Decide(ctx, store.ModePeek, scope, requests)
	return answer.Decisions, err
}

// Decide decides requests that [store.Check] found to be valid; [Store.Admit] and [Store.Peek] check them.
func (m *Store) Decide(_ context.Context, mode store.Mode, scope store.Channel, requests []store.Request) (store.Answer, error) {
	var a store.Answer
	m.data.Do(func(tx *Tx) { a = m.batch(tx, mode, scope, requests).run(requests) })
	return a, nil
}

// batch is one call, step by step as in lua/admit.lua.
type batch struct {
	*store.Plan
	tx     *Tx
	now    int64 // microseconds
	scope  store.Channel
	dedupe int64
	by     store.DecidedBy
	states []ratelimit.State // of the plan's levels
	fair   *holder
	told   *telling // nil = the requests have no handling
	window int      // that refuses longest, of the first level that refused the last request
	answer store.Answer
}

func (m *Store) batch(tx *Tx, mode store.Mode, scope store.Channel, requests []store.Request) *batch {
	b := &batch{Plan: store.NewPlan(mode, requests), tx: tx, now: tx.Now, scope: scope, dedupe: m.dedupe(), by: m.opts.DecidedBy}
	b.answer.Now = tx.Now
	b.answer.Decisions = make([]store.Decision, len(requests))
	b.answer.Numbers = make([]int64, len(requests))
	b.states = make([]ratelimit.State, len(b.Levels))
	for i := range b.Levels {
		b.states[i] = stateOf(tx, &b.Levels[i])
		ahead := b.states[i].Load(tx.Now, &b.Levels[i])
		b.answer.Stepped = max(b.answer.Stepped, ahead)
		if ahead > 0 && mode != store.ModePeek {
			tx.Replace(b.Levels[i].Key, b.states[i].Value())
		}
	}
	if b.Fairness != nil {
		b.fair = newHolder(b)
	}
	b.told = newTelling(b)
	return b
}

func (b *batch) run(requests []store.Request) store.Answer {
	seen := Value[seenIDs](b.tx, b.scope.Keys().Seen())
	for i := range requests {
		r := &requests[i]
		way := b.Paths[b.PathOf[i]-1]
		d := &b.answer.Decisions[i]
		d.DecidedBy = b.by
		switch {
		case b.told != nil && b.Mode != store.ModeRestore:
			b.handle(d, r, way, seen)
			continue
		case seen.has(r.ID, b.now-b.dedupe):
			d.Outcome = store.Duplicate
		default:
			b.answer.Numbers[i] = b.Decide(d, r, way, seen)
		}
		if b.Mode != store.ModePeek {
			b.count(r, d.Outcome)
		}
	}
	if b.told != nil {
		b.told.finish()
	}
	if b.fair != nil && b.Mode != store.ModePeek {
		b.fair.store()
	}
	return b.answer
}

// handle decides one request that has a handling, and counts it.
func (b *batch) handle(d *store.Decision, r *store.Request, way store.Path, seen *seenIDs) {
	known := seen.has(r.ID, b.now-b.dedupe)
	if b.Mode == store.ModePromote {
		known = b.told.waiting(r) < 0
	}
	if known {
		d.Outcome = store.Duplicate
		b.told.countTold(r, store.Duplicate)
		return
	}
	v := b.told.Decide(r, way)
	d.Outcome = v.outcome
	if d.Outcome == store.Dropped {
		d.RetryAfter = store.Microseconds(v.retryAt - b.now)
	}
	if !d.Outcome.Drops() && (d.Outcome != store.Delayed || b.Mode != store.ModePromote) {
		seen.add(r.ID, b.now, b.now-b.dedupe)
	}
	d.SetRefused(r, v.refused, v.shadow, v.window)
	d.Remaining = r.Remaining(func(level int) []int64 { return b.Used(way.Levels[level] - 1) })
	b.told.countTold(r, v.outcome)
}

// decide decides one request, and returns the number of its entry where it was admitted.
func (b *batch) Decide(d *store.Decision, r *store.Request, way store.Path, seen *seenIDs) (number int64) {
	refused, shadow, retryAt, never := b.refusal(r, way)
	if b.Mode == store.ModeRestore || b.Mode == store.ModeOpen {
		refused, shadow = 0, 0
	}
	switch {
	case refused != 0 && never:
		d.Outcome = store.Never
	case refused != 0:
		d.Outcome = store.Dropped
		d.RetryAfter = store.Microseconds(retryAt - b.now)
	default:
		d.Outcome = store.Admitted
		if b.Mode != store.ModePeek {
			number = b.commit(r, way, shadow)
			if b.Mode == store.ModeRestore {
				b.Restore(number, r)
			}
			seen.add(r.ID, b.now, b.now-b.dedupe)
		}
	}
	d.SetRefused(r, refused, shadow, b.window)
	d.Remaining = r.Remaining(func(level int) []int64 { return b.Used(way.Levels[level] - 1) })
	return number
}

func (b *batch) Used(place int) []int64 {
	level := &b.Levels[place]
	used := make([]int64, len(level.Windows))
	for w := range level.Windows {
		used[w] = b.states[place].Used(b.now, level, w)
	}
	return used
}

// refusal asks all levels of a request: the bits of those that refuse, and of the shadow levels that would,
// from when on all would pass, and whether they ever can.
func (b *batch) refusal(r *store.Request, way store.Path) (refused, shadow, retryAt int64, never bool) {
	retryAt = b.now
	if b.Mode == store.ModeForce {
		return 0, 0, retryAt, false
	}
	hold := holds{ordinary: r.Headroom, least: r.Headroom, firstAgain: b.now}
	if b.fair != nil {
		hold = b.fair.holds(way)
	}
	for i, place := range way.Levels {
		var held int64
		if place == 1 {
			held = hold.ordinary
		}
		at, cannot, by := b.check(place-1, r.Units(), held)
		if held > hold.least && at > b.now { // sooner, where the category becomes a first notice before
			first, _, _ := b.check(place-1, r.Units(), hold.least)
			at = min(at, max(first, hold.firstAgain))
		}
		if held > 0 && r.Units()+r.Headroom > b.Levels[place-1].Windows[0].Limit {
			cannot = true
		}
		switch {
		case at <= b.now && !cannot:
		case b.Levels[place-1].Shadow:
			shadow |= 1 << i
		default:
			if refused == 0 {
				b.window = by
			}
			refused |= 1 << i
			never = never || cannot
			retryAt = max(retryAt, at)
		}
	}
	return refused, shadow, retryAt, never
}

// check tells when units fit into a level (0 = now), whether they never can, and which window says so. held units of
// the first window must stay free.
func (b *batch) check(place int, units, held int64) (at int64, never bool, by int) {
	level, s := &b.Levels[place], b.states[place]
	for w, window := range level.Windows {
		if w > 0 {
			held = 0
		}
		used, most := s.Used(b.now, level, w), level.Capacity(window)
		switch {
		case units > most:
			never, by = true, w
		case used+units+held > most:
			if fits := b.FitsAt(place, w, units, held); fits > at {
				at = fits
				if !never {
					by = w
				}
			}
			if units == 1 && used >= most && !level.Shadow {
				b.close(level, w, b.FitsAt(place, w, 1, 0))
			}
		}
	}
	return at, never, by
}

func (b *batch) FitsAt(place, w int, units, held int64) int64 {
	level, s := &b.Levels[place], b.states[place]
	log, ok := s.(*ratelimit.LogState)
	if ok {
		if ahead := log.Newest(level.Windows[w].Limit-units-held) - b.now; ahead > ratelimit.MaxStep {
			b.answer.Stepped = max(b.answer.Stepped, log.Newest(0)-b.now)
			if b.Mode == store.ModePeek {
				return b.now + level.Windows[w].Per.Microseconds()
			}
			log.ClampToNow(b.now)
		}
	}
	return s.FitsAt(b.now, level, w, units, held)
}

// close notes that one unit cannot fit a level until then.
func (b *batch) close(level *ratelimit.Level, window int, until int64) {
	for i := range b.answer.Closed {
		if c := &b.answer.Closed[i]; c.Level == level {
			if closed := store.Microseconds(until - b.now); closed > c.For {
				c.For, c.Window = closed, window
			}
			return
		}
	}
	if until > b.now {
		b.answer.Closed = append(b.answer.Closed, store.ClosedLevel{Level: level, For: store.Microseconds(until - b.now), Window: window})
	}
}

func (b *batch) commit(r *store.Request, way store.Path, shadow int64) (number int64) {
	box := Value[Queue](b.tx, b.scope.Keys().Outbox())
	box.Seq++
	if b.Mode == store.ModeForce {
		Value[Counts](b.tx, b.scope.Keys().Ledger()).Add("forced", 1)
		shadow = -1 // no level holds its units
	}
	for i, place := range way.Levels {
		if shadow&(1<<i) == 0 && b.spends(r) {
			b.Take(place-1, r, box.Seq)
		}
	}
	if r.Enqueue != nil && b.Mode != store.ModeRestore {
		box.Entries = append(box.Entries, Entry{
			Number: box.Seq, At: b.now, Kind: string(r.Enqueue.Kind), Payload: r.Enqueue.Payload,
		})
	}
	if b.fair != nil && b.Mode != store.ModeForce {
		b.fair.admit(way.Category)
	}
	return box.Seq
}

func (b *batch) Take(place int, r *store.Request, number int64) {
	level := &b.Levels[place]
	if b.endOf(r) != "" && level.Strategy.EffectiveKind() == ratelimit.Backlog {
		return // what was sent waits no more
	}
	t := ratelimit.Charge{ID: r.ID, Units: r.Units(), Number: number, Keep: ratelimit.Longest(level.Windows), Limit: ratelimit.LargestLimit(level.Windows)}
	if b.Fairness != nil {
		outer := b.Levels[0].Windows[0]
		t.Keep = max(t.Keep, outer.Per)
		t.Limit = max(t.Limit, outer.Limit)
	}
	b.states[place].Add(b.now, level, t)
	b.tx.Put(level.Key, b.states[place].Value())
	if level.Strategy.EffectiveKind() != ratelimit.Backlog {
		b.tx.Expire(level.Key, 2*max(t.Keep, b.states[place].Longest())+time.Minute)
	}
}
