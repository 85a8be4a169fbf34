package ratelimit

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// SlidingBuckets counts units by bucket: never more than L in any window, and slots become free up to a bucket later.
const SlidingBuckets StrategyKind = "sliding-buckets"

var slidingBuckets = method{
	kind:     SlidingBuckets,
	monotone: true,
	check: func(s Strategy) error {
		if s.Bucket < 0 {
			return fmt.Errorf("a bucket of %s is too short", s.Bucket)
		}
		return nil
	},
	option: bucketWidth,
	state: func(kept any) State {
		if b, ok := kept.(*bucketsState); ok {
			return b.clone()
		}
		return &bucketsState{}
	},
}

// bucketWidth is the width of a level's buckets in microseconds.
func bucketWidth(l *Level) int64 {
	if l.Strategy.Bucket > 0 {
		return max(1, l.Strategy.Bucket.Microseconds())
	}
	return max(1, Longest(l.Windows).Microseconds()/60)
}

// bucketsState holds the units of a level by the end of their bucket, in microseconds. An end never changes, so that a
// bucket still counts for long enough after its width was configured differently.
type bucketsState struct {
	units map[int64]int64
	since int64 // when its first unit was taken
	last  int64 // when its last one was
	users map[user]int64
}

func (b *bucketsState) clone() *bucketsState {
	return &bucketsState{maps.Clone(b.units), b.since, b.last, maps.Clone(b.users)}
}

func (b *bucketsState) end(now int64, level *Level) int64 {
	return (now/bucketWidth(level) + 1) * bucketWidth(level)
}

// Load keeps what only a longer window of another configuration counts in buckets of its width.
func (b *bucketsState) Load(now int64, level *Level) (back int64) {
	if back = b.last - now; back > MaxStep {
		b.last, b.since = now, min(b.since, now)
	} else {
		back = 0
	}
	keep := Longest(level.Windows)
	if b.users == nil {
		b.users = map[user]int64{}
	}
	wide := noteUser(maps.Clone(b.users), now, user{keep, bucketWidth(level)})
	over := now - keep.Microseconds()
	for _, before := range b.ends() {
		end := before
		if back > 0 {
			end = min(end, b.end(now, level))
		}
		if end <= over && wide.per > keep {
			end = min(ceilDiv(end, 1, wide.other)*wide.other, over)
		}
		if end != before {
			b.units[end] += b.units[before]
			delete(b.units, before)
		}
	}
	return back
}

// Used implements [State].
func (b *bucketsState) Used(now int64, level *Level, w int) int64 {
	var used int64
	for end, n := range b.units {
		if end > now-level.Windows[w].Per.Microseconds() {
			used += n
		}
	}
	return used
}

func (b *bucketsState) ends() []int64 {
	ends := make([]int64, 0, len(b.units))
	for end := range b.units {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	return ends
}

// FitsAt implements [State].
func (b *bucketsState) FitsAt(now int64, level *Level, w int, units, _ int64) int64 {
	per := level.Windows[w].Per.Microseconds()
	over := b.Used(now, level, w) + units - level.Windows[w].Limit
	var leaves int64
	for _, end := range b.ends() {
		if end > now-per && over > 0 {
			over -= b.units[end]
			leaves = end + per
		}
	}
	return leaves
}

// Add implements [State].
func (b *bucketsState) Add(now int64, level *Level, c Charge) {
	if b.units == nil {
		b.units = map[int64]int64{}
	}
	if b.since == 0 {
		b.since = now
	}
	keep := noteUser(b.users, now, user{c.Keep, bucketWidth(level)}).per
	end := b.end(now, level)
	for other := range b.units {
		if other <= now-keep.Microseconds() {
			delete(b.units, other)
		}
		end = max(end, other)
	}
	b.units[end] += c.Units
	b.last = max(b.last, now)
}

// Refund implements [State].
func (b *bucketsState) Refund(_ int64, level *Level, at int64, c Charge) bool {
	if b.since == 0 || at < b.since {
		return false
	}
	if end := b.end(at, level); b.units[end] > 0 {
		b.units[end] = max(0, b.units[end]-c.Units)
	}
	return true
}

// Value implements [State].
func (b *bucketsState) Value() any { return b }

// Lasts implements [State]. A bucket counts until its end has left the longest window.
func (b *bucketsState) Lasts(now int64) time.Duration {
	last := now
	for end := range b.units {
		last = max(last, end)
	}
	return time.Duration(last-now)*time.Microsecond + longestOf(b.users)
}
