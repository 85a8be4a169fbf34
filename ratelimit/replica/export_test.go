package replica

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Waiting is how many callers wait for the next call of a channel.
func Waiting(l *Limiter, scope store.Channel) int {
	ch := l.channel(scope)
	ch.calls.mu.Lock()
	defer ch.calls.mu.Unlock()
	return len(ch.calls.waiting)
}

// Stretch is how long an interval becomes with as many replicas as are alive.
func Stretch(l *Limiter, d time.Duration) time.Duration { return l.stretch(d) }

// RecentIDs are ids that the store is known to have.
type RecentIDs = recentIDs

// MaxRecent bounds one half of them.
const MaxRecent = maxRecent

// Learn remembers the id of what was decided.
func (ids *RecentIDs) Learn(id string, outcome store.Outcome, now time.Time) {
	ids.learn([]store.Request{{Request: ratelimit.Request{ID: id}}}, []store.Decision{{Outcome: outcome}}, now, time.Hour)
}

// Knows reports whether an id is a duplicate.
func (ids *RecentIDs) Knows(id string, now time.Time) bool {
	return len(ids.missing([]store.Request{{Request: ratelimit.Request{ID: id}}}, now, time.Hour)) == 0
}

// Size is how many ids there are.
func (ids *RecentIDs) Size() int { return len(ids.newer) + len(ids.older) }

// Refreshing reports whether a channel refreshes its closed cache in the background.
func Refreshing(l *Limiter, scope store.Channel) bool {
	ch := l.channel(scope)
	ch.closed.mu.Lock()
	defer ch.closed.mu.Unlock()
	return ch.closed.refreshing
}

// Seeded is how many levels the fallback of a channel has.
func Seeded(l *Limiter, scope store.Channel) int {
	o := &l.channel(scope).outage
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seeded)
}

// WhileSeeding calls do while a channel holds the lock of its outage, as it does while it seeds the fallback.
func WhileSeeding(l *Limiter, scope store.Channel, do func()) {
	o := &l.channel(scope).outage
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
}

// SendHeartbeat announces a replica, as Run does now and then.
func SendHeartbeat(ctx context.Context, l *Limiter) error { return l.sendHeartbeat(ctx) }

// Widened reports whether a replica checks windows of others.
func Widened(l *Limiter) bool { return l.peers.longer.Load() != nil }

// MaxText bounds the text of a replica's windows.
const MaxText = maxText

// TextOf is the text of the windows of levels, and how many it leaves out.
func TextOf(levels []ratelimit.Level) (text string, leftOut int) {
	p := &peerWindows{}
	p.init()
	leftOut = p.set(levels)
	return p.text, leftOut
}

// WindowsIn are the windows of a level in a text.
func WindowsIn(text string, level ratelimit.Level) []ratelimit.Window {
	return decodeWindows(text)[hashOf(classOf(level.Key))]
}
