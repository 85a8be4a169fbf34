package ratelimit

import "time"

// PhaseOf is where the grid of a level's windows begins, for the oracle.
func PhaseOf(level Level) int64 { return level.phase() }

// NewSharedOn is NewShared on either engine.
func NewSharedOn(l Limiter, opts SharedOptions) *Shared {
	e, ok := l.(engine)
	if !ok {
		panic("not an engine")
	}
	return NewShared(e, opts)
}

// Waiting is how many callers wait for the next call of a channel.
func Waiting(s *Shared, scope Scope) int {
	ch := s.channel(scope)
	ch.calls.mu.Lock()
	defer ch.calls.mu.Unlock()
	return len(ch.calls.waiting)
}

// Stretch is how long an interval becomes with as many replicas as are heard.
func Stretch(s *Shared, d time.Duration) time.Duration { return s.stretch(d) }

// Seeded is how many levels the fallback of a channel has begun with a use of its own.
func Seeded(s *Shared, scope Scope) int {
	o := &s.channel(scope).outage
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seeded)
}
