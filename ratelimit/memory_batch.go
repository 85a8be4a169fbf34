package ratelimit

import (
	"time"

	"slackrelay/lua/memstore"
)

// batch is one call, step by step as in lua/admit.lua.
type batch struct {
	*plan
	tx     *memstore.Tx
	now    int64 // microseconds
	scope  Scope
	dedupe int64
	by     DecidedBy
	states []state // of the plan's levels
	fair   *holder
	told   *telling // nil = the requests have no handling
	window int      // that refuses longest, of the first level that refused the last request
	answer answer
}

func (m *Memory) batch(tx *memstore.Tx, mode mode, scope Scope, requests []Request) *batch {
	b := &batch{plan: newPlan(mode, requests), tx: tx, now: tx.Now, scope: scope, dedupe: m.dedupe, by: m.by}
	b.answer.now = tx.Now
	b.answer.decisions = make([]Decision, len(requests))
	b.answer.numbers = make([]int64, len(requests))
	b.states = make([]state, len(b.levels))
	for i := range b.levels {
		b.states[i] = stateOf(tx, &b.levels[i])
		ahead := b.states[i].load(tx.Now, &b.levels[i])
		b.answer.stepped = max(b.answer.stepped, ahead)
		if ahead > 0 && mode != modePeek {
			tx.Replace(b.levels[i].Key, b.states[i].value())
		}
	}
	if b.fairness != nil {
		b.fair = newHolder(b)
	}
	b.told = newTelling(b)
	return b
}

func (b *batch) run(requests []Request) answer {
	seen := memstore.Value[seenIDs](b.tx, b.scope.keys().Seen())
	for i := range requests {
		r := &requests[i]
		way := b.routes[b.routeOf[i]-1]
		d := &b.answer.decisions[i]
		d.DecidedBy = b.by
		switch {
		case b.told != nil && b.mode != modeRestore:
			b.handle(d, r, way, seen)
			continue
		case seen.has(r.ID, b.now-b.dedupe):
			d.Outcome = Duplicate
		default:
			b.answer.numbers[i] = b.decide(d, r, way, seen)
		}
		if b.mode != modePeek {
			b.count(r, d.Outcome)
		}
	}
	if b.told != nil {
		b.told.finish()
	}
	if b.fair != nil && b.mode != modePeek {
		b.fair.store()
	}
	return b.answer
}

// handle decides one request that has a handling, and counts it.
func (b *batch) handle(d *Decision, r *Request, way route, seen *seenIDs) {
	known := seen.has(r.ID, b.now-b.dedupe)
	if b.mode == modePromote {
		known = b.told.waiting(r) < 0
	}
	if known {
		d.Outcome = Duplicate
		b.told.countTold(r, Duplicate)
		return
	}
	v := b.told.decide(r, way)
	d.Outcome = v.outcome
	if d.Outcome == Dropped {
		d.RetryAfter = micros(v.retryAt - b.now)
	}
	if !d.Outcome.Drops() && (d.Outcome != Delayed || b.mode != modePromote) {
		seen.add(r.ID, b.now, b.now-b.dedupe)
	}
	d.refusedBy(r, v.refused, v.shadow, v.window)
	d.Remaining = r.remaining(func(level int) []int64 { return b.used(way.levels[level] - 1) })
	b.told.countTold(r, v.outcome)
}

// decide decides one request, and returns the number of its entry where it was admitted.
func (b *batch) decide(d *Decision, r *Request, way route, seen *seenIDs) (number int64) {
	refused, shadow, retryAt, never := b.refusal(r, way)
	if b.mode == modeRestore || b.mode == modeOpen {
		refused, shadow = 0, 0
	}
	switch {
	case refused != 0 && never:
		d.Outcome = Never
	case refused != 0:
		d.Outcome = Dropped
		d.RetryAfter = micros(retryAt - b.now)
	default:
		d.Outcome = Admitted
		if b.mode != modePeek {
			number = b.commit(r, way, shadow)
			if b.mode == modeRestore {
				b.restore(number, r)
			}
			seen.add(r.ID, b.now, b.now-b.dedupe)
		}
	}
	d.refusedBy(r, refused, shadow, b.window)
	d.Remaining = r.remaining(func(level int) []int64 { return b.used(way.levels[level] - 1) })
	return number
}

func (b *batch) used(place int) []int64 {
	level := &b.levels[place]
	used := make([]int64, len(level.Windows))
	for w := range level.Windows {
		used[w] = b.states[place].used(b.now, level, w)
	}
	return used
}

// refusal asks all levels of a request: the bits of those that refuse, and of the shadow levels that would,
// from when on all would pass, and whether they ever can.
func (b *batch) refusal(r *Request, way route) (refused, shadow, retryAt int64, never bool) {
	retryAt = b.now
	if b.mode == modeForce {
		return 0, 0, retryAt, false
	}
	hold := holds{ordinary: r.Headroom, least: r.Headroom, firstAgain: b.now}
	if b.fair != nil {
		hold = b.fair.holds(way)
	}
	for i, place := range way.levels {
		var held int64
		if place == 1 {
			held = hold.ordinary
		}
		at, cannot, by := b.check(place-1, r.units(), held)
		if held > hold.least && at > b.now { // sooner, where the category becomes a first notice before
			first, _, _ := b.check(place-1, r.units(), hold.least)
			at = min(at, max(first, hold.firstAgain))
		}
		if held > 0 && r.units()+r.Headroom > b.levels[place-1].Windows[0].Limit {
			cannot = true
		}
		switch {
		case at <= b.now && !cannot:
		case b.levels[place-1].Shadow:
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
	level, s := &b.levels[place], b.states[place]
	for w, window := range level.Windows {
		if w > 0 {
			held = 0
		}
		used, most := s.used(b.now, level, w), level.most(window)
		switch {
		case units > most:
			never, by = true, w
		case used+units+held > most:
			if fits := b.fitsAt(place, w, units, held); fits > at {
				at = fits
				if !never {
					by = w
				}
			}
			if units == 1 && used >= most && !level.Shadow {
				b.close(level, w, b.fitsAt(place, w, 1, 0))
			}
		}
	}
	return at, never, by
}

func (b *batch) fitsAt(place, w int, units, held int64) int64 {
	level, s := &b.levels[place], b.states[place]
	log, ok := s.(*admissions)
	if ok {
		if ahead := log.edge(level.Windows[w].Limit-units-held) - b.now; ahead > maxStep {
			b.answer.stepped = max(b.answer.stepped, log.edge(0)-b.now)
			if b.mode == modePeek {
				return b.now + level.Windows[w].Per.Microseconds()
			}
			log.settle(b.now)
		}
	}
	return s.fitsAt(b.now, level, w, units, held)
}

// close notes that one unit cannot fit a level until then.
func (b *batch) close(level *Level, window int, until int64) {
	for i := range b.answer.closed {
		if c := &b.answer.closed[i]; c.level == level {
			if closed := micros(until - b.now); closed > c.until {
				c.until, c.window = closed, window
			}
			return
		}
	}
	if until > b.now {
		b.answer.closed = append(b.answer.closed, closure{level, micros(until - b.now), window})
	}
}

func (b *batch) commit(r *Request, way route, shadow int64) (number int64) {
	box := memstore.Value[memstore.Outbox](b.tx, b.scope.keys().Outbox())
	box.Seq++
	if b.mode == modeForce {
		memstore.Value[memstore.Counts](b.tx, b.scope.keys().Ledger()).Add("forced", 1)
		shadow = -1 // no level holds its units
	}
	for i, place := range way.levels {
		if shadow&(1<<i) == 0 && b.spends(r) {
			b.take(place-1, r, box.Seq)
		}
	}
	if r.Enqueue != nil && b.mode != modeRestore {
		box.Entries = append(box.Entries, memstore.Entry{
			Number: box.Seq, At: b.now, Kind: string(r.Enqueue.Kind), Payload: r.Enqueue.Payload,
		})
	}
	if b.fair != nil && b.mode != modeForce {
		b.fair.admit(way.category)
	}
	return box.Seq
}

func (b *batch) take(place int, r *Request, number int64) {
	level := &b.levels[place]
	if b.endOf(r) != "" && level.Strategy.kind() == Backlog {
		return // what was sent waits no more
	}
	t := taken{id: r.ID, units: r.units(), number: number, keep: longest(level.Windows), most: largest(level.Windows)}
	if b.fairness != nil {
		outer := b.levels[0].Windows[0]
		t.keep, t.most = max(t.keep, outer.Per), max(t.most, outer.Limit)
	}
	b.states[place].take(b.now, level, t)
	b.tx.Put(level.Key, b.states[place].value())
	if level.Strategy.kind() != Backlog {
		b.tx.Expire(level.Key, 2*max(t.keep, b.states[place].longest())+time.Minute)
	}
}
