package ratelimit

import (
	"errors"
	"fmt"
	"time"
)

const (
	// MaxBatch is the maximum number of requests in one call of a [Limiter]. It bounds how long a script keeps other clients
	// waiting: 8 to 12 ms for a thousand requests.
	MaxBatch = 128
	// DefaultDedupe is how long an admitted id is remembered by default: less than the usual repeat interval of alerts.
	DefaultDedupe = time.Hour
	// MaxID is the length of the longest id, in bytes: with the number of an entry, it makes members of at most 64 bytes.
	MaxID = 40

	maxLevels = 32 // a script returns the levels that refused as bits of a number that is exact
)

// Request asks for N units at each of its levels:
//
//	request := ratelimit.Request{ID: "call-17", Levels: levels}
//
// Fairness is the same for all requests of a call.
type Request struct {
	ID       string  // 1 to [MaxID] bytes; an id that was admitted within the dedupe time is a duplicate
	N        int64   // units; 0 = 1
	Levels   []Level // outermost first; 1 to 32
	Category string  // for fairness; a store counts the request under it
	// Headroom is how many units of the first level's first window this request must leave free; see [Headroom]. 0 = none.
	Headroom int64
	Fairness *Fairness // nil = none
}

// Units returns how many units the request asks for, at least 1.
func (r *Request) Units() int64 { return max(r.N, 1) }

// Check returns an error if the request cannot be decided.
func (r *Request) Check() error {
	if err := r.CheckID(); err != nil {
		return err
	}
	if len(r.Levels) == 0 || len(r.Levels) > maxLevels {
		return fmt.Errorf("%d levels, want 1 to %d", len(r.Levels), maxLevels)
	}
	if err := CheckLevels(r.Levels); err != nil {
		return err
	}
	if err := r.checkHeadroom(); err != nil {
		return err
	}
	return r.checkFairness()
}

// CheckID returns an error if the request's id or number of units is not valid.
func (r *Request) CheckID() error {
	if r.ID == "" || len(r.ID) > MaxID {
		return fmt.Errorf("id has %d bytes, want 1 to %d", len(r.ID), MaxID)
	}
	if r.N < 0 {
		return fmt.Errorf("%d units asked for, want 1 or more", r.N)
	}
	return nil
}

func (r *Request) checkHeadroom() error {
	if r.Headroom < 0 {
		return fmt.Errorf("headroom of %d, want 0 or more", r.Headroom)
	}
	if r.Headroom > 0 && r.Levels[0].Strategy.EffectiveKind() != SlidingLog {
		return errors.New("headroom needs a sliding log at the first level")
	}
	return nil
}

// checkFairness returns an error if the request's fairness cannot be applied to its levels.
func (r *Request) checkFairness() error {
	if !r.Fairness.Enabled() {
		return nil
	}
	if r.Levels[0].Name != LevelChannel || r.Levels[0].Strategy.EffectiveKind() != SlidingLog {
		return errors.New("fairness needs the channel's level first, as a sliding log")
	}
	category := r.CategoryLevel()
	if category < 0 || r.Levels[category].Strategy.EffectiveKind() != SlidingLog {
		return errors.New("fairness needs a category's level, as a sliding log")
	}
	return r.Fairness.check()
}

// CategoryLevel returns the index of the category level among the request's levels; -1 = there is none.
func (r *Request) CategoryLevel() int {
	for i := range r.Levels {
		if r.Levels[i].Name == LevelCategory {
			return i
		}
	}
	return -1
}

// Remaining lists the windows of the request's levels. used returns the units used in each window of a level; a negative
// number means that the window was not read.
func (r *Request) Remaining(used func(level int) []int64) []Remaining {
	all := make([]Remaining, 0, len(r.Levels))
	for i := range r.Levels {
		for w, n := range used(i) {
			if n < 0 {
				continue
			}
			window := r.Levels[i].Windows[w]
			free := max(0, r.Levels[i].Capacity(window)-n)
			all = append(all, Remaining{Level: r.Levels[i].Name, Window: window, Used: n, Free: free})
		}
	}
	return all
}
