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
	batch *batch
	per   int64 // the channel's window, microseconds
	// The categories that first notices learned, with those of this batch: when each was last attempted, and when each
	// was last admitted within the channel's window.
	known, heard map[string]int64
	isAsked      bool // for what a request must leave free
}

func newFairness(b *batch) *fairness {
	f := &fairness{batch: b, per: b.plan.Levels[0].Windows[0].Per.Microseconds()}
	if b.plan.LearnsCategories() {
		f.known = timesAfter(b.tx.look(b.tx.keys.Known()), b.tx.now-f.knownFor())
		f.heard = timesAfter(b.tx.look(b.tx.keys.AdmittedCategories()), b.tx.now-f.per)
	}
	return f
}

// timesAfter returns a copy of the times after this one.
func timesAfter(times map[string]int64, after int64) map[string]int64 {
	later := map[string]int64{}
	for name, at := range times {
		if at > after {
			later[name] = at
		}
	}
	return later
}

func (f *fairness) knownFor() int64 { return max(knownFor.Microseconds(), f.per) }

// inChannelWindow is how many units a category's level used within the channel's window.
func (f *fairness) inChannelWindow(place int) int64 {
	log, _ := f.batch.state(place - 1).(*ratelimit.LogState) // fairness needs logs
	return log.CountAfter(f.batch.tx.now - f.per)
}

// reserved returns what a request of a path must leave free.
func (f *fairness) reserved(path store.Path) reservedSlots {
	least := max(path.Headroom, f.reservedByOthers(path.Category))
	f.isAsked = true
	slots := reservedSlots{ordinary: least, firstNotice: least, firstNoticeAt: f.batch.tx.now}
	first := f.batch.plan.Fairness.FirstNotice
	switch {
	case first.Auto:
		f.known[path.Category] = f.batch.tx.now
		if at, ok := f.heard[path.Category]; ok {
			silent := max(int64(len(f.known)), first.Floor) - int64(len(f.heard))
			slots.ordinary = max(least, silent)
			slots.firstNoticeAt = at + f.per
		}
	case first.Slots > 0 && f.inChannelWindow(path.CategoryLevel) >= first.PerCategory:
		log, _ := f.batch.state(path.CategoryLevel - 1).(*ratelimit.LogState)
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

func (f *fairness) noteAdmission(category string) {
	if f.batch.plan.LearnsCategories() {
		f.heard[category] = f.batch.tx.now
	}
}

// store writes what was learned. Above the bound, the categories whose last attempt is oldest are forgotten.
func (f *fairness) store() {
	if !f.isAsked || !f.batch.plan.LearnsCategories() {
		return
	}
	for _, category := range forgetOldest(f.known, ratelimit.MaxKnown) {
		delete(f.heard, category)
	}
	tx := f.batch.tx
	tx.keep(tx.keys.Known(), f.known, store.Microseconds(f.knownFor())+time.Minute)
	tx.keep(tx.keys.AdmittedCategories(), f.heard, store.Microseconds(f.per)+time.Minute)
}

// forgetOldest removes all but the newest times, of which at most so many are kept. It returns the names of those removed.
func forgetOldest(times map[string]int64, keep int) (forgotten []string) {
	if len(times) <= keep {
		return nil
	}
	oldest := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(times[a], times[b]), cmp.Compare(a, b))
	})
	forgotten = oldest[:len(times)-keep]
	for _, name := range forgotten {
		delete(times, name)
	}
	return forgotten
}
