package memory

import (
	"bytes"

	"slackrelay/store"
)

// entryBytes is what an entry takes beside its payload, as Redis keeps it: when, and its kind.
const entryBytes = 25

// telling is a batch whose requests have a handling, step by step as in lua/admit.lua.
type telling struct {
	*batch
	h      *store.MessagePolicy
	box    *Queue
	posted *Posted
	leads  map[string]*lead
}

// verdict is what was decided of a request.
type verdict struct {
	outcome         store.Outcome
	refused, shadow int64
	retryAt         int64
	window          int // that refuses longest, of the first level that refused
	number, thread  int64
	folded          bool // because of what was posted before: no level was asked
}

func newTelling(b *batch) *telling {
	if b.Policy == nil {
		return nil
	}
	names := b.scope.Keys()
	return &telling{
		batch: b, h: b.Policy, leads: map[string]*lead{},
		box: Value[Queue](b.tx, names.Outbox()), posted: Value[Posted](b.tx, names.Posted()),
	}
}

// decide decides one request that is no duplicate.
func (t *telling) Decide(r *store.Request, way store.Path) verdict {
	v := t.before(r)
	if t.Mode == store.ModeForce && v.folded && v.outcome.Drops() || t.Mode == store.ModeForce && v.outcome == store.Delayed {
		v = verdict{}
	}
	key := r.Event.Bundle + " " + r.Category
	first := t.leads[key]
	if first == nil {
		first = t.resume(key, r)
	}
	delaying := t.h.Overflow == store.OverflowDelay && t.Mode != store.ModePromote && t.Mode != store.ModeForce && len(t.box.Delayed) > 0
	switch {
	case v.folded && v.outcome == store.Delayed:
		v.outcome, v.number = t.delay(r)
	case v.folded:
	case first != nil:
		v = t.join(first, r)
	case delaying:
		v.outcome, v.number = t.delay(r)
	default:
		v = t.ask(r, way, v)
	}
	if r.Event.Bundle != "" && first == nil && !v.folded {
		t.leads[key] = t.newLead(key, v, r)
	}
	if v.outcome.Drops() {
		t.drop(r, v)
	}
	return v
}

// ask asks the levels, and does what the handling says where they refuse.
func (t *telling) ask(r *store.Request, way store.Path, v verdict) verdict {
	refused, shadow, retryAt, never := t.refusal(r, way)
	v.refused, v.shadow, v.retryAt, v.window = refused, shadow, retryAt, t.window
	switch {
	case refused == 0:
		v.outcome, v.number = store.Admitted, t.commit(r, way, shadow)
		t.shown(v, r)
	case never:
		v.outcome = store.Never
	case t.Mode == store.ModePromote:
		v.outcome = store.Delayed
		if t.overdue(r) {
			v.outcome = store.Full
		}
	case t.h.Overflow == store.OverflowDelay:
		v.outcome, v.number = t.delay(r)
	case t.h.Overflow == store.OverflowMerge && t.byCategory(way, refused):
		v.outcome = t.hold(r)
	default:
		v.outcome = store.Dropped
	}
	return v
}

// byCategory tells whether the category's level is among those that refused.
func (*telling) byCategory(way store.Path, refused int64) bool {
	for i, place := range way.Levels {
		if place == way.CategoryLevel && refused&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// finish says how many events a bundle has beyond those that it lists, and forgets old messages.
func (t *telling) finish() {
	t.posted.Prune(t.now - t.h.RememberFor().Microseconds())
	for _, first := range t.leads {
		t.count(first)
	}
}

// delay lets a request wait for a slot.
func (t *telling) delay(r *store.Request) (store.Outcome, int64) {
	waiting := 0
	for i := range t.box.Delayed {
		waiting += len(t.box.Delayed[i].Payload) + entryBytes
	}
	if int64(len(t.box.Delayed)) >= t.h.MaxDelayed || waiting >= MaxDelayedBytes {
		return store.Full, 0
	}
	t.box.Seq++
	t.box.Delayed = append(t.box.Delayed, Entry{
		Number: t.box.Seq, At: t.now, Kind: string(store.KindMessage), Payload: r.Payload(), Category: r.Category,
	})
	return store.Delayed, t.box.Seq
}

// waiting is the place of a request in the queue of what is delayed, or -1.
func (t *telling) waiting(r *store.Request) int {
	for i, entry := range t.box.Delayed {
		if entry.Number == r.Delayed && entry.Category == r.Category && bytes.Equal(entry.Payload, r.Payload()) {
			return i
		}
	}
	return -1
}

func (t *telling) overdue(r *store.Request) bool {
	i := t.waiting(r)
	return i >= 0 && t.now-t.box.Delayed[i].At > t.h.MaxDelay.Microseconds()
}

func (t *telling) leave(r *store.Request) {
	if i := t.waiting(r); i >= 0 {
		t.box.Delayed = append(t.box.Delayed[:i], t.box.Delayed[i+1:]...)
	}
	if isBundle(r) {
		t.posted.Forget(r.Delayed)
	}
}

// countTold counts what became of a request with a handling.
func (t *telling) countTold(r *store.Request, o store.Outcome) {
	ledger := Value[Counts](t.tx, t.scope.Keys().Ledger())
	if t.Mode == store.ModePromote {
		if o == store.Delayed || o == store.Duplicate {
			return
		}
		ledger.Add("delayed", -1)
		t.leave(r)
	} else {
		ledger.Add("received", 1)
	}
	o = o.CountedAs()
	ledger.Add(o.String(), 1)
	if o == store.Admitted || o == store.Dropped {
		countInSeries(t.tx, t.scope, r.Category, o, 1)
	}
}
