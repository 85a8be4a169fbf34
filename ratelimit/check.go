package ratelimit

import (
	"fmt"
	"time"

	"slackrelay/lua"
)

// DefaultDedupe is how long an admitted id is remembered: below every common repeat interval.
const DefaultDedupe = time.Hour

const maxIDLength = 40 // leaves room for the entry number in members of at most 64 bytes

// maxLevels is how many levels a request may have: their refusals are told as bits of an exact number.
const maxLevels = 32

// check finds the request that makes no sense before anything is sent, and names the fault. It completes them
// first.
func check(requests []Request) error {
	if err := complete(requests); err != nil {
		return err
	}
	if len(requests) == 0 || len(requests) > MaxBatch {
		return fmt.Errorf("%w: %d requests in one call, want 1 to %d", ErrRequest, len(requests), MaxBatch)
	}
	for i := range requests {
		if err := requests[i].check(); err != nil {
			return fmt.Errorf("%w: request %d: %w", ErrRequest, i, err)
		}
		if !requests[i].Fairness.same(requests[0].Fairness) {
			return fmt.Errorf("%w: request %d: fairness differs from that of request 0", ErrRequest, i)
		}
		if requests[i].Handling != requests[0].Handling || (requests[i].Delayed > 0) != (requests[0].Delayed > 0) ||
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
	if err := checkLevels(r.Levels); err != nil {
		return err
	}
	for i := range r.Levels {
		if !lua.Grouped(r.Levels[i].Key) {
			return fmt.Errorf("level %q has no limit group; set the group, or the channel", r.Levels[i].Name)
		}
	}
	if err := r.checkHandling(); err != nil {
		return err
	}
	return checkFairness(*r)
}

func checkLevels(levels []Level) error {
	for i := range levels {
		if err := levels[i].check(); err != nil {
			return fmt.Errorf("level %q: %w", levels[i].Name, err)
		}
	}
	return nil
}

func (l *Level) check() error {
	if l.Key == "" || len(l.Windows) == 0 {
		return fmt.Errorf("it needs a key and at least one window")
	}
	for i, w := range l.Windows {
		if w.Limit < 0 || w.Per < time.Microsecond {
			return fmt.Errorf("a window needs a limit of 0 or more and a length of 1 µs or more")
		}
		for _, other := range l.Windows[:i] {
			if other.Per == w.Per {
				return fmt.Errorf("two windows have the length %s; keep the smaller limit", w.Per)
			}
		}
	}
	if l.Strategy.kind() == Backlog && len(l.Windows) > 1 {
		return fmt.Errorf("a backlog has one limit, and no windows")
	}
	return l.Strategy.check()
}

func (r *Request) units() int64 { return max(r.N, 1) }

func longest(windows []Window) time.Duration {
	var per time.Duration
	for _, w := range windows {
		per = max(per, w.Per)
	}
	return per
}

func largest(windows []Window) (limit int64) {
	for _, w := range windows {
		limit = max(limit, w.Limit)
	}
	return limit
}
