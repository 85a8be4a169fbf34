package memory

import (
	"cmp"
	"slices"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// knownFor is how long a category that is not heard of stays known.
const knownFor = 24 * time.Hour

// holds say what a request must leave free in the channel: an ordinary one, and one that is a first notice;
// and from when on the next request of the category would be one.
type holds struct{ ordinary, least, firstAgain int64 }

// holder answers for a batch what fairness holds back.
type holder struct {
	*batch
	per              int64           // the channel's window, microseconds
	known, heard     categories      // as they were before the batch
	attempted        map[string]bool // in this batch
	admitted         map[string]bool
	knownCount, hear int64
}

func newHolder(b *batch) *holder {
	h := &holder{
		batch: b, per: b.Levels[0].Windows[0].Per.Microseconds(),
		attempted: map[string]bool{}, admitted: map[string]bool{},
	}
	if b.LearnsCategories() {
		h.known = *LookOrNew[categories](b.tx, b.scope.Keys().Known())
		h.heard = *LookOrNew[categories](b.tx, b.scope.Keys().Heard())
		h.knownCount, h.hear = h.known.since(b.now-h.knownFor()), h.heard.since(b.now-h.per)
	}
	return h
}

func (h *holder) knownFor() int64 { return max(knownFor.Microseconds(), h.per) }

// inOuter is how many units a category's level used within the channel's window.
func (h *holder) inOuter(place int) int64 {
	log, ok := h.states[place-1].(*ratelimit.LogState)
	if !ok {
		return 0
	}
	return log.CountAfter(h.now - h.per)
}

func (h *holder) holds(way store.Path) holds {
	var reserved int64
	for _, reserve := range h.Fairness.Reserves {
		if reserve.Category != way.Category {
			reserved += max(0, reserve.Slots-h.inOuter(h.LevelNumber(reserve.Level)))
		}
	}
	hold := holds{firstAgain: h.now, least: max(way.Headroom, reserved)}
	hold.ordinary = hold.least
	first := h.Fairness.FirstNotice
	switch {
	case first.Auto:
		h.learn(way.Category)
		if at, ok := h.lastHeard(way.Category); ok {
			hold.ordinary = max(hold.least, h.knownCount-h.hear+max(0, first.Floor-h.knownCount))
			hold.firstAgain = at + h.per
		}
	case first.Slots > 0 && h.inOuter(way.CategoryLevel) >= first.PerCategory:
		log, _ := h.states[way.CategoryLevel-1].(*ratelimit.LogState)
		hold.ordinary = max(hold.least, first.Slots)
		hold.firstAgain = log.Newest(first.PerCategory-1) + h.per
	}
	return hold
}

// learn notes an attempt.
func (h *holder) learn(category string) {
	if h.attempted[category] {
		return
	}
	h.attempted[category] = true
	if h.known.at[category] <= h.now-h.knownFor() {
		h.knownCount++
	}
}

// lastHeard is when a category was last admitted within the channel's window.
func (h *holder) lastHeard(category string) (int64, bool) {
	if h.admitted[category] {
		return h.now, true
	}
	at := h.heard.at[category]
	return at, at > h.now-h.per
}

func (h *holder) admit(category string) {
	if !h.LearnsCategories() {
		return
	}
	if _, ok := h.lastHeard(category); !ok {
		h.hear++
	}
	h.admitted[category] = true
}

// store writes what was learned. Above the bound, the categories that were silent longest are forgotten.
func (h *holder) store() {
	if !h.LearnsCategories() {
		return
	}
	known := Value[categories](h.tx, h.scope.Keys().Known())
	heard := Value[categories](h.tx, h.scope.Keys().Heard())
	for category := range h.attempted {
		known.set(category, h.now)
	}
	for category := range h.admitted {
		heard.set(category, h.now)
	}
	known.forget(h.now - h.knownFor())
	heard.forget(h.now - h.per)
	for _, category := range known.above(ratelimit.MaxKnown) {
		delete(known.at, category)
		delete(heard.at, category)
	}
	h.tx.Expire(h.scope.Keys().Known(), store.Microseconds(h.knownFor())+time.Minute)
	h.tx.Expire(h.scope.Keys().Heard(), store.Microseconds(h.per)+time.Minute)
}

// categories are names with a time, in microseconds.
type categories struct{ at map[string]int64 }

func (c *categories) set(name string, at int64) {
	if c.at == nil {
		c.at = map[string]int64{}
	}
	c.at[name] = at
}

func (c *categories) since(after int64) (n int64) {
	for _, at := range c.at {
		if at > after {
			n++
		}
	}
	return n
}

func (c *categories) forget(until int64) {
	for name, at := range c.at {
		if at <= until {
			delete(c.at, name)
		}
	}
}

// above lists the oldest names over the bound; equal times go by name.
func (c *categories) above(bound int) []string {
	over := len(c.at) - bound
	if over <= 0 {
		return nil
	}
	names := make([]string, 0, len(c.at))
	for name := range c.at {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.at[a], c.at[b]), cmp.Compare(a, b))
	})
	return names[:over]
}
