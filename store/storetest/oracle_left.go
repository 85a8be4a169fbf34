package storetest

import (
	"slices"

	"slackrelay/ratelimit"
)

// Left is how many units fit into a window at a time, if nothing else happens until then.
func (o *Oracle) Left(level ratelimit.Level, w ratelimit.Window, at int64) int64 {
	return rulesOf(level.Strategy).left(o, level, w, at)
}

// inFixedWindow replays the windows: each begins with the first unit after the last one, or on the grid.
func (o *Oracle) inFixedWindow(level ratelimit.Level, per, at int64) int64 {
	if level.Strategy.Anchor == ratelimit.Aligned {
		phase := level.GridPhase()
		start := (at+phase)/per*per - phase
		return o.Between(level.Key, start, start+per)
	}
	var w fixed
	for i, a := range o.Admitted {
		for _, r := range refundsAt(o.Admitted, i) {
			w.refund(r, per, slices.Contains(r.Keys, level.Key))
		}
		if slices.Contains(a.Keys, level.Key) {
			w.spend(a, per)
		}
	}
	for _, r := range refundsAt(o.Admitted, len(o.Admitted)) {
		w.refund(r, per, slices.Contains(r.Keys, level.Key))
	}
	if !w.runs || at >= w.start+per {
		return 0
	}
	return w.n
}

// refundsAt lists what was refunded when so many were admitted, in order.
func refundsAt(all []Admission, admitted int) (refunded []Admission) {
	for _, a := range all {
		if a.refunded && a.before == admitted {
			refunded = append(refunded, a)
		}
	}
	slices.SortFunc(refunded, func(a, b Admission) int { return a.returned - b.returned })
	return refunded
}

// fixed is a window that begins with its first unit, and never has less than one there.
type fixed struct {
	runs            bool
	start, n, first int64
}

func (w *fixed) spend(a Admission, per int64) {
	if !w.runs || a.At >= w.start+per || w.n == 0 {
		*w = fixed{runs: true, start: a.At}
	}
	w.n += a.Units
	if a.At == w.start {
		w.first += a.Units
	}
}

func (w *fixed) refund(a Admission, per int64, own bool) {
	if !own || !w.runs || a.At < w.start || a.At >= w.start+per {
		return
	}
	w.n -= a.Units
	if a.At == w.start {
		if w.first -= a.Units; w.first == 0 && w.n > 0 {
			w.first, w.n = 1, w.n+1
		}
	}
}

// tokens replays a bucket in which one token appears every W/L, rounded up.
func (o *Oracle) tokens(key string, w ratelimit.Window, burst, at int64) int64 {
	if w.Limit == 0 {
		return 0
	}
	each := (w.Per.Microseconds() + w.Limit - 1) / w.Limit
	debt, last := int64(0), int64(0) // microseconds until the bucket is full again
	for _, a := range o.of(key) {
		debt = max(0, debt-(a.At-last)) + a.Units*each
		last = a.At
	}
	debt = max(0, debt-(at-last))
	return (burst*each - debt) / each // debt never exceeds a full bucket
}
