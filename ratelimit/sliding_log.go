package ratelimit

import (
	"slices"
	"sort"
	"time"
)

// SlidingLog remembers every unit: never more than L in any window of length W.
const SlidingLog StrategyKind = "sliding-log"

var slidingLog = method{
	kind:     SlidingLog,
	monotone: true,
	state: func(kept any) State {
		if log, ok := kept.(*LogState); ok {
			return log // only Add and Refund change it, and their result is kept
		}
		return &LogState{}
	},
}

// LogState is what a level of the sliding log admitted.
type LogState struct {
	entries []admission // one for each unit, oldest first
	users   map[user]int64
}

type admission struct {
	at int64
	id string
}

// Load has nothing to do: what lies ahead counts, and is moved once it makes the level refuse; see [LogState.ClampToNow].
func (*LogState) Load(int64, *Level) int64 { return 0 }

// Newest is when the k-th newest unit was admitted, from 0; it is 0 where there is none.
func (a *LogState) Newest(k int64) int64 {
	if k < 0 || k >= int64(len(a.entries)) {
		return 0
	}
	return a.entries[int64(len(a.entries))-1-k].at
}

// CountAfter is how many units were admitted after a time.
func (a *LogState) CountAfter(after int64) int64 {
	i := sort.Search(len(a.entries), func(i int) bool { return a.entries[i].at > after })
	return int64(len(a.entries) - i)
}

// Used implements [State].
func (a *LogState) Used(now int64, level *Level, w int) int64 {
	return a.CountAfter(now - level.Windows[w].Per.Microseconds())
}

// FitsAt implements [State].
func (a *LogState) FitsAt(now int64, level *Level, w int, units, reserved int64) int64 {
	window := level.Windows[w]
	if rank := window.Limit - units - reserved; rank >= 0 {
		return a.Newest(rank) + window.Per.Microseconds()
	}
	return now + window.Per.Microseconds()
}

// ClampToNow moves what lies ahead of now to now.
func (a *LogState) ClampToNow(now int64) {
	for i := range a.entries {
		a.entries[i].at = min(a.entries[i].at, now)
	}
}

// maxOld is how many units are kept that no longer count. They count again where the clock goes back.
const maxOld = 32

// Add forgets what no window counts, where there is much of it. Of what only another configuration counts, the newest are
// enough: twice its limit, so that refunds leave enough.
func (a *LogState) Add(now int64, level *Level, c Charge) {
	if a.users == nil {
		a.users = map[user]int64{}
	}
	own, keep := user{c.Keep, c.Limit}, c.Keep
	noteUser(a.users, now, own)
	var enough int64
	for u := range a.users {
		if u != own {
			keep = max(keep, u.per)
			enough = max(enough, 2*u.other)
		}
	}
	if old := int64(len(a.entries)) - a.CountAfter(now-Longest(level.Windows).Microseconds()); old > maxOld {
		a.trim(now, keep, enough, c.Keep)
	}
	i := int64(len(a.entries)) - a.CountAfter(now)
	for range c.Units {
		a.entries = slices.Insert(a.entries, int(i), admission{now, c.ID})
	}
}

// trim forgets what was admitted longer ago than keep. Of what was admitted longer ago than own, the newest units are enough.
func (a *LogState) trim(now int64, keep time.Duration, enough int64, own time.Duration) {
	counted := min(a.CountAfter(now-keep.Microseconds()), max(enough, a.CountAfter(now-own.Microseconds())))
	a.entries = a.entries[int64(len(a.entries))-counted:]
}

// Refund implements [State].
func (a *LogState) Refund(_ int64, _ *Level, at int64, c Charge) bool {
	atThatTime := func(e admission) bool { return e.id == c.ID && e.at == at }
	if a.remove(atThatTime) {
		return true
	}
	return a.remove(func(e admission) bool { return e.id == c.ID }) // it was moved: the clock went back
}

func (a *LogState) remove(matches func(admission) bool) bool {
	before := len(a.entries)
	a.entries = slices.DeleteFunc(a.entries, matches)
	return len(a.entries) < before
}

// Value implements [State].
func (a *LogState) Value() any { return a }

// Lasts implements [State].
func (a *LogState) Lasts(int64) time.Duration { return longestOf(a.users) }
