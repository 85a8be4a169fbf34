package replica

import (
	"cmp"
	"slices"

	"slackrelay/store"
)

// One fold tells the record of at most so many drops, the first of each category and the newest, and of so many bytes of
// their events: whoever waits for Redis waits for the fold too.
const (
	maxKept      = 200
	maxKeptBytes = 128 << 10
)

// record keeps the drops that this process decided by itself, until they are folded.
type record struct {
	firsts []kept
	newest []kept // a ring, once it is full
	told   map[string]bool
	next   int64
	keeps  int64 // how many the channel's record keeps
}

// kept is a drop whose event is written out only if it is told.
type kept struct {
	order   int64
	request store.Request
	drop    store.Drop
}

// keep notes a drop.
func (r *record) keep(request *store.Request, d *store.Decision) {
	h := request.Policy
	if h == nil || h.KeepDrops == 0 {
		return
	}
	r.keeps = h.KeepDrops
	one := kept{order: r.next, request: *request, drop: dropOfDecision(d, request)}
	r.next++
	if r.told == nil {
		r.told = map[string]bool{}
	}
	switch {
	case !r.told[request.Category] && len(r.firsts) < maxKept/2:
		r.told[request.Category] = true
		r.firsts = append(r.firsts, one)
	case len(r.newest) < maxKept/2:
		r.newest = append(r.newest, one)
	default:
		r.newest[one.order%int64(len(r.newest))] = one
	}
}

// drop is what is recorded of a refusal.
func dropOfDecision(d *store.Decision, r *store.Request) store.Drop {
	drop := store.Drop{Category: r.Category, Level: d.Level, Used: -1, Limit: -1, RetryAfter: max(0, d.RetryAfter)}
	if d.Outcome != store.Dropped {
		drop.Level = d.Outcome.String()
	}
	if d.Outcome == store.Dropped && d.Window.Per > 0 {
		drop.Limit, drop.Used = d.Window.Limit, d.Window.Limit // as far as is known here
	}
	for _, remaining := range d.Remaining {
		if remaining.Level == drop.Level && remaining.Window == d.Window {
			drop.Used = remaining.Used
			break
		}
	}
	return drop
}

// take hands over what was kept, oldest first, with the events written out, and how many the channel keeps. Where that is
// too long, the first of each category and the newest are handed over.
func (r *record) Take() ([]store.Drop, int64) {
	slices.SortFunc(r.newest, func(a, b kept) int { return cmp.Compare(b.order, a.order) })
	all, bytes := append(r.firsts, r.newest...), 0
	told := make([]kept, 0, len(all))
	for i := range all {
		one := &all[i]
		if f := one.request.Complete; f != nil && f(&one.request) != nil {
			continue // what cannot be written out is counted all the same
		}
		if one.request.Enqueue != nil {
			one.drop.Payload = one.request.Enqueue.Payload
		}
		if bytes += len(one.drop.Payload); bytes > maxKeptBytes && len(told) > 0 {
			break
		}
		told = append(told, *one)
	}
	slices.SortFunc(told, func(a, b kept) int { return cmp.Compare(a.order, b.order) })
	drops := make([]store.Drop, len(told))
	for i := range told {
		drops[i] = told[i].drop
	}
	keeps := r.keeps
	*r = record{next: r.next}
	return drops, keeps
}
