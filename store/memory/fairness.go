package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// knownFor is how long a category stays known after its last attempt; at least the channel's window.
const knownFor = 24 * time.Hour

// reservedSlots are the units of the channel's first window that a request must leave free.
type reservedSlots struct {
	ordinary      int64
	firstNotice   int64 // if it is the first notice of its category; never more than ordinary
	firstNoticeAt int64 // when the next request of the category is one
}

// fairness computes for a batch what its requests must leave free for other categories.
type fairness struct {
	batch      *batch
	per        int64            // the channel's window, microseconds
	known      map[string]int64 // when each category was last attempted, before the batch
	heard      map[string]int64 // when each was last admitted, before the batch
	attempted  map[string]bool  // in this batch
	admitted   map[string]bool  // in this batch
	knownCount int64
	heardCount int64
}

func newFairness(b *batch) *fairness {
	f := &fairness{
		batch: b, per: b.plan.Levels[0].Windows[0].Per.Microseconds(),
		attempted: map[string]bool{}, admitted: map[string]bool{},
	}
	if b.plan.LearnsCategories() {
		f.known = b.tx.look(b.tx.keys.Known())
		f.heard = b.tx.look(b.tx.keys.AdmittedCategories())
		f.knownCount = countAfter(f.known, b.tx.now-f.knownFor())
		f.heardCount = countAfter(f.heard, b.tx.now-f.per)
	}
	return f
}

// countAfter is how many of the times are after this one.
func countAfter(times map[string]int64, after int64) (n int64) {
	for _, at := range times {
		if at > after {
			n++
		}
	}
	return n
}

// forgetUntil removes the times until this one.
func forgetUntil(times map[string]int64, until int64) {
	maps.DeleteFunc(times, func(_ string, at int64) bool { return at <= until })
}

func (f *fairness) knownFor() int64 { return max(knownFor.Microseconds(), f.per) }

// inChannelWindow is how many units a category's level used within the channel's window.
func (f *fairness) inChannelWindow(place int) int64 {
	log, isLog := f.batch.states[place-1].(*ratelimit.LogState)
	if !isLog {
		return 0
	}
	return log.CountAfter(f.batch.tx.now - f.per)
}

// reserved returns what a request of a path must leave free.
func (f *fairness) reserved(path store.Path) reservedSlots {
	least := max(path.Headroom, f.reservedByOthers(path.Category))
	slots := reservedSlots{ordinary: least, firstNotice: least, firstNoticeAt: f.batch.tx.now}
	first := f.batch.plan.Fairness.FirstNotice
	switch {
	case first.Auto:
		f.learn(path.Category)
		if at, ok := f.lastAdmission(path.Category); ok {
			silent := f.knownCount - f.heardCount + max(0, first.Floor-f.knownCount)
			slots.ordinary = max(least, silent)
			slots.firstNoticeAt = at + f.per
		}
	case first.Slots > 0 && f.inChannelWindow(path.CategoryLevel) >= first.PerCategory:
		log, _ := f.batch.states[path.CategoryLevel-1].(*ratelimit.LogState)
		slots.ordinary = max(least, first.Slots)
		slots.firstNoticeAt = log.Newest(first.PerCategory-1) + f.per
	}
	return slots
}

// reservedByOthers is what configured reserves keep from a category.
func (f *fairness) reservedByOthers(category string) (units int64) {
	for _, reserve := range f.batch.plan.Fairness.Reserves {
		if reserve.Category != category {
			units += max(0, reserve.Slots-f.inChannelWindow(f.batch.plan.LevelNumber(reserve.Level)))
		}
	}
	return units
}

// learn notes an attempt.
func (f *fairness) learn(category string) {
	if f.attempted[category] {
		return
	}
	f.attempted[category] = true
	if f.known[category] <= f.batch.tx.now-f.knownFor() {
		f.knownCount++
	}
}

// lastAdmission returns when a category was last admitted within the channel's window.
func (f *fairness) lastAdmission(category string) (at int64, ok bool) {
	if f.admitted[category] {
		return f.batch.tx.now, true
	}
	at = f.heard[category]
	return at, at > f.batch.tx.now-f.per
}

func (f *fairness) noteAdmission(category string) {
	if !f.batch.plan.LearnsCategories() {
		return
	}
	if _, ok := f.lastAdmission(category); !ok {
		f.heardCount++
	}
	f.admitted[category] = true
}

// store writes what was learned. Above the bound, the categories whose last attempt is oldest are forgotten.
func (f *fairness) store() {
	if !f.batch.plan.LearnsCategories() {
		return
	}
	tx := f.batch.tx
	known, heard := tx.numbers(tx.keys.Known()), tx.numbers(tx.keys.AdmittedCategories())
	for category := range f.attempted {
		known[category] = tx.now
	}
	for category := range f.admitted {
		heard[category] = tx.now
	}
	forgetUntil(known, tx.now-f.knownFor())
	forgetUntil(heard, tx.now-f.per)
	if excess := len(known) - ratelimit.MaxKnown; excess > 0 {
		oldest := slices.SortedFunc(maps.Keys(known), func(a, b string) int {
			return cmp.Or(cmp.Compare(known[a], known[b]), cmp.Compare(a, b))
		})
		for _, category := range oldest[:excess] {
			delete(known, category)
			delete(heard, category)
		}
	}
	tx.expire(tx.keys.Known(), store.Microseconds(f.knownFor())+time.Minute)
	tx.expire(tx.keys.AdmittedCategories(), store.Microseconds(f.per)+time.Minute)
}
