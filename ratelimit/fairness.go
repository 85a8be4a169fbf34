package ratelimit

import (
	"fmt"
	"slices"
)

// Bounds of fairness.
const (
	// MaxReserves is how many categories may have a reserve.
	MaxReserves = 32
	// maxKnown is how many categories a channel learns.
	maxKnown = 1000
)

// Fairness holds slots of a channel back, so that busy categories cannot use up what quiet ones need. It is
// about the first window of the channel's level, and needs sliding logs at the levels "channel" and "category".
//
// What is held back is the larger of what first notices, reserves and [Request.Headroom] ask for. Fixed slots,
// reserves and headroom can leave slots idle: an admission cannot be taken back, so what is guaranteed on
// demand cannot also be lent.
type Fairness struct {
	FirstNotice FirstNotice
	Reserves    []Reserve
}

// FirstNotice keeps slots for categories of which nothing, or little, was admitted within the channel's window.
type FirstNotice struct {
	// Slots are kept for events whose category has had fewer than PerCategory admitted. Every first notice is
	// guaranteed if there are at least as many slots as categories that can appear, times PerCategory.
	Slots       int64
	PerCategory int64
	// Auto learns the reserve instead: one slot for each category that was attempted within 24 h and not
	// admitted within the window. Floor are the slots kept as long as fewer categories are known.
	Auto  bool
	Floor int64
}

// Reserve keeps slots of the channel for one category.
type Reserve struct {
	Category string
	Slots    int64
	Level    Level // the category's level
}

// Headroom is how many of limit's units a request leaves free that may use a share of them, from 0 to 1.
func Headroom(limit int64, share float64) int64 {
	usable := int64(float64(limit) * share)
	return limit - min(limit, max(0, usable))
}

func (f *Fairness) on() bool {
	return f != nil && (f.FirstNotice.Auto || f.FirstNotice.Slots > 0 || len(f.Reserves) > 0)
}

// check finds what fairness cannot be applied to.
func checkFairness(r Request) error {
	if r.Headroom < 0 {
		return fmt.Errorf("headroom of %d, want 0 or more", r.Headroom)
	}
	if r.Headroom > 0 && r.Levels[0].Strategy.kind() != SlidingLog {
		return fmt.Errorf("headroom needs a sliding log at the first level")
	}
	if !r.Fairness.on() {
		return nil
	}
	f := r.Fairness
	if r.Levels[0].Name != LevelChannel || r.Levels[0].Strategy.kind() != SlidingLog {
		return fmt.Errorf("fairness needs the channel's level first, as a sliding log")
	}
	own := categoryPlace(r)
	if own < 0 || r.Levels[own].Strategy.kind() != SlidingLog {
		return fmt.Errorf("fairness needs a category's level, as a sliding log")
	}
	if len(f.Reserves) > MaxReserves {
		return fmt.Errorf("%d reserves, want at most %d", len(f.Reserves), MaxReserves)
	}
	if f.FirstNotice.Slots < 0 || f.FirstNotice.Floor < 0 || f.FirstNotice.Slots > 0 && f.FirstNotice.PerCategory < 1 {
		return fmt.Errorf("first notices need slots and a floor of 0 or more, and 1 or more per category")
	}
	for _, reserve := range f.Reserves {
		if reserve.Slots < 0 || reserve.Level.Strategy.kind() != SlidingLog {
			return fmt.Errorf("the reserve of %q needs 0 slots or more, and a sliding log", reserve.Category)
		}
	}
	return nil
}

// category is the place of the category's level among the request's levels, or -1.
func categoryPlace(r Request) int {
	for i, level := range r.Levels {
		if level.Name == LevelCategory {
			return i
		}
	}
	return -1
}

// same tells whether requests with these two may share a call.
func (f *Fairness) same(other *Fairness) bool {
	if f == other || !f.on() && !other.on() {
		return true
	}
	return f != nil && other != nil && f.FirstNotice == other.FirstNotice && slices.EqualFunc(f.Reserves, other.Reserves,
		func(a, b Reserve) bool {
			return a.Category == b.Category && a.Slots == b.Slots && a.Level.Key == b.Level.Key
		})
}
