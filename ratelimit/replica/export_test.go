package replica

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Waiting is how many callers wait for the next call of a channel.
func Waiting(s *Limiter, scope store.Channel) int {
	ch := s.channel(scope)
	ch.calls.mu.Lock()
	defer ch.calls.mu.Unlock()
	return len(ch.calls.waiting)
}

// Stretch is how long an interval becomes with as many replicas as are heard.
func Stretch(s *Limiter, d time.Duration) time.Duration { return s.stretch(d) }

// Remembered are ids that the shared state is known to hold.
type Remembered = remembered

// MaxRemembered bounds one half of them.
const MaxRemembered = maxRemembered

// Learn remembers the id of what was decided.
func (m *Remembered) Learn(id string, outcome store.Outcome, now time.Time) {
	m.learn([]store.Request{{ID: id}}, []store.Decision{{Outcome: outcome}}, now, time.Hour)
}

// Knows tells whether an id is a duplicate.
func (m *Remembered) Knows(id string, now time.Time) bool {
	return len(m.unknown([]store.Request{{ID: id}}, now, time.Hour)) == 0
}

// Size is how many ids are kept.
func (m *Remembered) Size() int { return len(m.new) + len(m.old) }

// Refreshing tells whether a channel asks in the background for what is closed.
func Refreshing(s *Limiter, scope store.Channel) bool {
	ch := s.channel(scope)
	ch.closed.mu.Lock()
	defer ch.closed.mu.Unlock()
	return ch.closed.refreshing
}

// Seeded is how many levels the fallback of a channel has begun with a use of its own.
func Seeded(s *Limiter, scope store.Channel) int {
	o := &s.channel(scope).outage
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seeded)
}

// Beat says that a replica lives, as Run does now and then.
func Beat(ctx context.Context, s *Limiter) error { return s.beat(ctx) }

// Widened tells whether a replica asks for windows of others.
func Widened(s *Limiter) bool { return s.peers.wider.Load() != nil }

// MaxText bounds what a replica tells of its windows.
const MaxText = maxText

// TextOf is what a replica tells of levels, and how many it leaves out.
func TextOf(levels []ratelimit.Level) (text string, left int) {
	p := &peers{}
	p.init()
	left = p.set(levels)
	return p.text, left
}

// WindowsIn are the windows of a level in what a replica tells.
func WindowsIn(text string, level ratelimit.Level) []ratelimit.Window {
	return decodeWindows(text)[hashOf(classOf(level.Key))]
}
