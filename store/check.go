package store

import (
	"errors"
	"fmt"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

const maxIDLength = 40 // leaves room for the entry number in members of at most 64 bytes

// maxLevels bounds the levels of a request: a script returns those that refused as bits of a number that is exact.
const maxLevels = 32

// Check completes the requests of one call, and returns an [ErrRequest] that names the first one that is not valid.
func Check(mode Mode, requests []Request) error {
	if err := Complete(requests); err != nil {
		return err
	}
	if len(requests) == 0 || len(requests) > MaxBatch {
		return fmt.Errorf("%w: %d requests in one call, want 1 to %d", ErrRequest, len(requests), MaxBatch)
	}
	for i := range requests {
		if err := requests[i].check(mode); err != nil {
			return fmt.Errorf("%w: request %d: %w", ErrRequest, i, err)
		}
		if err := requests[i].checkSameAs(&requests[0]); err != nil {
			return fmt.Errorf("%w: request %d: %w", ErrRequest, i, err)
		}
	}
	return nil
}

// checkSameAs returns an error if the request may not share a call with the first one.
func (r *Request) checkSameAs(first *Request) error {
	if !r.Fairness.Equal(first.Fairness) {
		return errors.New("fairness differs from that of request 0")
	}
	if r.Policy != first.Policy {
		return errors.New("policy differs from that of request 0")
	}
	return nil
}

func (r *Request) check(mode Mode) error {
	switch {
	case r.ID == "" || len(r.ID) > maxIDLength:
		return fmt.Errorf("id has %d bytes, want 1 to %d", len(r.ID), maxIDLength)
	case (r.Delayed > 0) != (mode == ModePromote):
		return errors.New("a request that asks again for a delayed event is for Promote, and no other request is")
	case r.N < 0:
		return fmt.Errorf("%d units asked for, want 1 or more", r.N)
	case len(r.Levels) == 0 || len(r.Levels) > maxLevels:
		return fmt.Errorf("%d levels, want 1 to %d", len(r.Levels), maxLevels)
	case r.Enqueue != nil && r.Enqueue.Kind != KindMessage:
		return fmt.Errorf("kind %q of the outbox entry is unknown", r.Enqueue.Kind)
	}
	if err := r.checkLevels(); err != nil {
		return err
	}
	if err := r.checkPolicy(); err != nil {
		return err
	}
	if err := r.checkHeadroom(); err != nil {
		return err
	}
	return r.checkFairness()
}

func (r *Request) checkLevels() error {
	if err := ratelimit.CheckLevels(r.Levels); err != nil {
		return err
	}
	for i := range r.Levels {
		if !lua.Grouped(r.Levels[i].Key) {
			return fmt.Errorf("level %q has no limit group; set the group, or the channel", r.Levels[i].Name)
		}
	}
	return nil
}

func (r *Request) checkHeadroom() error {
	if r.Headroom < 0 {
		return fmt.Errorf("headroom of %d, want 0 or more", r.Headroom)
	}
	if r.Headroom > 0 && r.Levels[0].Strategy.EffectiveKind() != ratelimit.SlidingLog {
		return errors.New("headroom needs a sliding log at the first level")
	}
	return nil
}

// checkFairness returns an error if the request's fairness cannot be applied to its levels.
func (r *Request) checkFairness() error {
	if !r.Fairness.Enabled() {
		return nil
	}
	if r.Levels[0].Name != ratelimit.LevelChannel || r.Levels[0].Strategy.EffectiveKind() != ratelimit.SlidingLog {
		return errors.New("fairness needs the channel's level first, as a sliding log")
	}
	category := r.categoryLevel()
	if category < 0 || r.Levels[category].Strategy.EffectiveKind() != ratelimit.SlidingLog {
		return errors.New("fairness needs a category's level, as a sliding log")
	}
	if n := len(r.Fairness.Reserves); n > ratelimit.MaxReserves {
		return fmt.Errorf("%d reserves, want at most %d", n, ratelimit.MaxReserves)
	}
	if first := r.Fairness.FirstNotice; first.Slots < 0 || first.Floor < 0 || first.Slots > 0 && first.PerCategory < 1 {
		return errors.New("first notices need slots and a floor of 0 or more, and 1 or more per category")
	}
	for _, reserve := range r.Fairness.Reserves {
		if reserve.Slots < 0 || reserve.Level.Strategy.EffectiveKind() != ratelimit.SlidingLog {
			return fmt.Errorf("the reserve of %q needs 0 slots or more, and a sliding log", reserve.Category)
		}
	}
	return nil
}

// categoryLevel returns the index of the category level among the request's levels; -1 = there is none.
func (r *Request) categoryLevel() int {
	for i := range r.Levels {
		if r.Levels[i].Name == ratelimit.LevelCategory {
			return i
		}
	}
	return -1
}
