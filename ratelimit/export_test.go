package ratelimit

import (
	"context"
	"slices"
	"time"
)

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

// Restore takes in what was admitted while the engine was away; of a past that is nil, nothing is known.
func Restore(ctx context.Context, l Limiter, scope Scope, requests []Request, pasts []*Past, replica string, sequence int64) error {
	requests = slices.Clone(requests)
	for i, past := range pasts {
		if past != nil {
			requests[i].past = &returned{Past: *past}
		}
	}
	return l.(engine).restore(ctx, scope, requests, fold{replica, sequence})
}

// Remembered are ids that the shared state is known to hold.
type Remembered = remembered

// MaxRemembered bounds one half of them.
const MaxRemembered = maxRemembered

// Learn remembers the id of what was decided.
func (m *Remembered) Learn(id string, outcome Outcome, now time.Time) {
	m.learn([]Request{{ID: id}}, []Decision{{Outcome: outcome}}, now, time.Hour)
}

// Knows tells whether an id is a duplicate.
func (m *Remembered) Knows(id string, now time.Time) bool {
	return len(m.unknown([]Request{{ID: id}}, now, time.Hour)) == 0
}

// Size is how many ids are kept.
func (m *Remembered) Size() int { return len(m.new) + len(m.old) }

// Refreshing tells whether a channel asks in the background for what is closed.
func Refreshing(s *Shared, scope Scope) bool {
	ch := s.channel(scope)
	ch.closed.mu.Lock()
	defer ch.closed.mu.Unlock()
	return ch.closed.refreshing
}

// Seeded is how many levels the fallback of a channel has begun with a use of its own.
func Seeded(s *Shared, scope Scope) int {
	o := &s.channel(scope).outage
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seeded)
}

// Beat says that a replica lives, as Run does now and then.
func Beat(ctx context.Context, s *Shared) error { return s.beat(ctx) }

// Widened tells whether a replica asks for windows of others.
func Widened(s *Shared) bool { return s.peers.wider.Load() != nil }

// MaxText bounds what a replica tells of its windows.
const MaxText = maxText

// TextOf is what a replica tells of levels, and how many it leaves out.
func TextOf(levels []Level) (text string, left int) {
	p := &peers{}
	p.init()
	left = p.set(levels)
	return p.text, left
}

// WindowsIn are the windows of a level in what a replica tells.
func WindowsIn(text string, level Level) []Window {
	return decodeWindows(text)[hashOf(classOf(level.Key))]
}
