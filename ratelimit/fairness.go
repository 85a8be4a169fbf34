package ratelimit

import (
	"errors"
	"fmt"
	"slices"
)

// Bounds of fairness.
const (
	// MaxReserves is how many categories may have a reserve.
	MaxReserves = 32
	// MaxKnown is how many categories a channel learns.
	MaxKnown = 1000
)

// Fairness reserves slots of a channel, so that busy categories cannot use up what quiet ones need. It applies to the
// first window of the channel's level, and needs sliding logs at the levels "channel" and "category".
//
// The number of reserved slots is the largest of what first notices, reserves and a request's headroom ask for. Fixed
// slots, reserves and headroom can leave slots unused: an admission cannot be taken back, so a slot that is guaranteed on
// demand cannot be lent meanwhile.
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

// Headroom is how many units of a limit a request must leave free that may use only a share of it, from 0 to 1.
func Headroom(limit int64, share float64) int64 {
	usable := int64(float64(limit) * share)
	return limit - min(limit, max(0, usable))
}

// Enabled reports whether anything is reserved. It works on nil.
func (f *Fairness) Enabled() bool {
	return f != nil && (f.FirstNotice.Auto || f.FirstNotice.Slots > 0 || len(f.Reserves) > 0)
}

func (f *Fairness) check() error {
	if n := len(f.Reserves); n > MaxReserves {
		return fmt.Errorf("%d reserves, want at most %d", n, MaxReserves)
	}
	if first := f.FirstNotice; first.Slots < 0 || first.Floor < 0 || first.Slots > 0 && first.PerCategory < 1 {
		return errors.New("first notices need slots and a floor of 0 or more, and 1 or more per category")
	}
	for _, reserve := range f.Reserves {
		if reserve.Slots < 0 || reserve.Level.Strategy.EffectiveKind() != SlidingLog {
			return fmt.Errorf("the reserve of %q needs 0 slots or more, and a sliding log", reserve.Category)
		}
	}
	return nil
}

// Equal reports whether requests with these two may share a call. It works on nil.
func (f *Fairness) Equal(other *Fairness) bool {
	if f == other || !f.Enabled() && !other.Enabled() {
		return true
	}
	return f != nil && other != nil && f.FirstNotice == other.FirstNotice && slices.EqualFunc(f.Reserves, other.Reserves,
		func(a, b Reserve) bool {
			return a.Category == b.Category && a.Slots == b.Slots && a.Level.Key == b.Level.Key
		})
}
