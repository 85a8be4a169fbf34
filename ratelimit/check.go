package ratelimit

import (
	"fmt"
	"time"
)

// DefaultDedupe is how long an admitted id is remembered: below every common repeat interval.
const DefaultDedupe = time.Hour

const maxIDLength = 40 // leaves room for the entry number in members of at most 64 bytes

// check finds the request that makes no sense before anything is sent, and names the fault.
func check(requests []Request) error {
	if len(requests) == 0 || len(requests) > MaxBatch {
		return fmt.Errorf("%w: %d requests in one call, want 1 to %d", ErrRequest, len(requests), MaxBatch)
	}
	for i, r := range requests {
		if err := r.check(); err != nil {
			return fmt.Errorf("%w: request %d: %w", ErrRequest, i, err)
		}
	}
	return nil
}

func (r Request) check() error {
	if r.ID == "" || len(r.ID) > maxIDLength {
		return fmt.Errorf("id has %d bytes, want 1 to %d", len(r.ID), maxIDLength)
	}
	if r.N < 0 {
		return fmt.Errorf("%d units asked for, want 1 or more", r.N)
	}
	if len(r.Levels) == 0 {
		return fmt.Errorf("no levels")
	}
	if r.Enqueue != nil && r.Enqueue.Kind != KindMessage {
		return fmt.Errorf("kind %q of the outbox entry is unknown", r.Enqueue.Kind)
	}
	return checkLevels(r.Levels)
}

func checkLevels(levels []Level) error {
	for _, level := range levels {
		if level.Key == "" || len(level.Windows) == 0 {
			return fmt.Errorf("level %q needs a key and at least one window", level.Name)
		}
		for _, w := range level.Windows {
			if w.Limit < 0 || w.Per < time.Microsecond {
				return fmt.Errorf("level %q: a window needs a limit of 0 or more and a length of 1 µs or more", level.Name)
			}
		}
	}
	return nil
}

func (r Request) units() int64 { return max(r.N, 1) }

func longest(windows []Window) time.Duration {
	var per time.Duration
	for _, w := range windows {
		per = max(per, w.Per)
	}
	return per
}
