package memory

import (
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
	per        int64           // the channel's window, microseconds
	known      *categoryTimes  // by their last attempt, as before the batch
	heard      *categoryTimes  // by their last admission, as before the batch
	attempted  map[string]bool // in this batch
	admitted   map[string]bool // in this batch
	knownCount int64
	heardCount int64
}

func newFairness(b *batch) *fairness {
	f := &fairness{
		batch: b, per: b.plan.Levels[0].Windows[0].Per.Microseconds(),
		attempted: map[string]bool{}, admitted: map[string]bool{},
	}
	if b.plan.LearnsCategories() {
		f.known = lookOrEmpty[categoryTimes](b.tx, b.keys.Known())
		f.heard = lookOrEmpty[categoryTimes](b.tx, b.keys.AdmittedCategories())
		f.knownCount = f.known.countAfter(b.tx.now - f.knownFor())
		f.heardCount = f.heard.countAfter(b.tx.now - f.per)
	}
	return f
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
	if f.known.when(category) <= f.batch.tx.now-f.knownFor() {
		f.knownCount++
	}
}

// lastAdmission returns when a category was last admitted within the channel's window.
func (f *fairness) lastAdmission(category string) (at int64, ok bool) {
	if f.admitted[category] {
		return f.batch.tx.now, true
	}
	at = f.heard.when(category)
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
	tx, keys := f.batch.tx, f.batch.keys
	if !f.batch.plan.LearnsCategories() {
		return
	}
	known := lookOrCreate[categoryTimes](tx, keys.Known())
	heard := lookOrCreate[categoryTimes](tx, keys.AdmittedCategories())
	for category := range f.attempted {
		known.set(category, tx.now)
	}
	for category := range f.admitted {
		heard.set(category, tx.now)
	}
	known.forget(tx.now - f.knownFor())
	heard.forget(tx.now - f.per)
	for _, category := range known.oldestAbove(ratelimit.MaxKnown) {
		delete(known.at, category)
		delete(heard.at, category)
	}
	tx.expire(keys.Known(), store.Microseconds(f.knownFor())+time.Minute)
	tx.expire(keys.AdmittedCategories(), store.Microseconds(f.per)+time.Minute)
}
