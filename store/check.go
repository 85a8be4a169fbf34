package store

import (
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

// DefaultDedupe is how long an admitted id is remembered: below every common repeat interval.
const DefaultDedupe = time.Hour

const maxIDLength = 40 // leaves room for the entry number in members of at most 64 bytes

// maxLevels is how many levels a request may have: their refusals are told as bits of an exact number.
const maxLevels = 32

// check finds the request that makes no sense before anything is sent, and names the fault. It completes them
// first.
func Check(requests []Request) error {
	if err := Complete(requests); err != nil {
		return err
	}
	if len(requests) == 0 || len(requests) > MaxBatch {
		return fmt.Errorf("%w: %d requests in one call, want 1 to %d", ErrRequest, len(requests), MaxBatch)
	}
	for i := range requests {
		if err := requests[i].check(); err != nil {
			return fmt.Errorf("%w: request %d: %w", ErrRequest, i, err)
		}
		if !requests[i].Fairness.Equal(requests[0].Fairness) {
			return fmt.Errorf("%w: request %d: fairness differs from that of request 0", ErrRequest, i)
		}
		if requests[i].Policy != requests[0].Policy || (requests[i].Delayed > 0) != (requests[0].Delayed > 0) ||
			requests[i].Forced != requests[0].Forced {
			return fmt.Errorf("%w: request %d: handling differs from that of request 0", ErrRequest, i)
		}
	}
	return nil
}

func (r *Request) check() error {
	if r.ID == "" || len(r.ID) > maxIDLength {
		return fmt.Errorf("id has %d bytes, want 1 to %d", len(r.ID), maxIDLength)
	}
	if r.Forced && r.Delayed > 0 {
		return fmt.Errorf("a request that asks again for a delayed event cannot be forced")
	}
	if r.N < 0 {
		return fmt.Errorf("%d units asked for, want 1 or more", r.N)
	}
	if len(r.Levels) == 0 || len(r.Levels) > maxLevels {
		return fmt.Errorf("%d levels, want 1 to %d", len(r.Levels), maxLevels)
	}
	if r.Enqueue != nil && r.Enqueue.Kind != KindMessage {
		return fmt.Errorf("kind %q of the outbox entry is unknown", r.Enqueue.Kind)
	}
	if err := ratelimit.CheckLevels(r.Levels); err != nil {
		return err
	}
	for i := range r.Levels {
		if !lua.Grouped(r.Levels[i].Key) {
			return fmt.Errorf("level %q has no limit group; set the group, or the channel", r.Levels[i].Name)
		}
	}
	if err := r.checkPolicy(); err != nil {
		return err
	}
	return checkFairness(*r)
}

// check finds what fairness cannot be applied to.
func checkFairness(r Request) error {
	if r.Headroom < 0 {
		return fmt.Errorf("headroom of %d, want 0 or more", r.Headroom)
	}
	if r.Headroom > 0 && r.Levels[0].Strategy.EffectiveKind() != ratelimit.SlidingLog {
		return fmt.Errorf("headroom needs a sliding log at the first level")
	}
	if !r.Fairness.Enabled() {
		return nil
	}
	f := r.Fairness
	if r.Levels[0].Name != ratelimit.LevelChannel || r.Levels[0].Strategy.EffectiveKind() != ratelimit.SlidingLog {
		return fmt.Errorf("fairness needs the channel's level first, as a sliding log")
	}
	own := categoryPlace(r)
	if own < 0 || r.Levels[own].Strategy.EffectiveKind() != ratelimit.SlidingLog {
		return fmt.Errorf("fairness needs a category's level, as a sliding log")
	}
	if len(f.Reserves) > ratelimit.MaxReserves {
		return fmt.Errorf("%d reserves, want at most %d", len(f.Reserves), ratelimit.MaxReserves)
	}
	if f.FirstNotice.Slots < 0 || f.FirstNotice.Floor < 0 || f.FirstNotice.Slots > 0 && f.FirstNotice.PerCategory < 1 {
		return fmt.Errorf("first notices need slots and a floor of 0 or more, and 1 or more per category")
	}
	for _, reserve := range f.Reserves {
		if reserve.Slots < 0 || reserve.Level.Strategy.EffectiveKind() != ratelimit.SlidingLog {
			return fmt.Errorf("the reserve of %q needs 0 slots or more, and a sliding log", reserve.Category)
		}
	}
	return nil
}

// category is the place of the category's level among the request's levels, or -1.
func categoryPlace(r Request) int {
	for i, level := range r.Levels {
		if level.Name == ratelimit.LevelCategory {
			return i
		}
	}
	return -1
}
