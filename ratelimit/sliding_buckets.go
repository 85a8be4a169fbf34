package ratelimit

import (
	"maps"
	"slices"
	"time"
)

// buckets are the units of a level by the end of their bucket. An end never changes, so that a bucket whose
// width was configured anew still counts long enough.
type BucketsState struct {
	units   map[int64]int64
	since   int64 // when its first unit was taken
	last    int64 // when its last one was
	keepers map[keeper]int64
}

func (b *BucketsState) Clone() *BucketsState {
	return &BucketsState{maps.Clone(b.units), b.since, b.last, maps.Clone(b.keepers)}
}

func (b *BucketsState) end(now int64, level *Level) int64 {
	return (now/level.width() + 1) * level.width()
}

// load keeps what only a longer window of another configuration counts in buckets of its width.
func (b *BucketsState) Load(now int64, level *Level) (back int64) {
	if back = b.last - now; back > MaxStep {
		b.last, b.since = now, min(b.since, now)
	} else {
		back = 0
	}
	keep := Longest(level.Windows)
	if b.keepers == nil {
		b.keepers = map[keeper]int64{}
	}
	wide := keepOf(maps.Clone(b.keepers), now, keeper{keep, level.width()})
	over := now - keep.Microseconds()
	for _, before := range b.ends() {
		end := before
		if back > 0 {
			end = min(end, b.end(now, level))
		}
		if end <= over && wide.per > keep {
			end = min((end+wide.other-1)/wide.other*wide.other, over)
		}
		if end != before {
			b.units[end] += b.units[before]
			delete(b.units, before)
		}
	}
	return back
}

func (b *BucketsState) Used(now int64, level *Level, w int) int64 {
	var used int64
	for end, n := range b.units {
		if end > now-level.Windows[w].Per.Microseconds() {
			used += n
		}
	}
	return used
}

func (b *BucketsState) ends() []int64 {
	ends := make([]int64, 0, len(b.units))
	for end := range b.units {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	return ends
}

func (b *BucketsState) FitsAt(now int64, level *Level, w int, units, _ int64) int64 {
	per := level.Windows[w].Per.Microseconds()
	over := b.Used(now, level, w) + units - level.Windows[w].Limit
	for _, end := range b.ends() {
		if end <= now-per {
			continue
		}
		if over -= b.units[end]; over <= 0 {
			return end + per
		}
	}
	return now + per
}

func (b *BucketsState) Take(now int64, level *Level, t Spend) {
	if b.units == nil {
		b.units = map[int64]int64{}
	}
	if b.since == 0 {
		b.since = now
	}
	keep := keepOf(b.keepers, now, keeper{t.Keep, level.width()}).per
	end := b.end(now, level)
	for other := range b.units {
		if other <= now-keep.Microseconds() {
			delete(b.units, other)
		}
		end = max(end, other)
	}
	b.units[end] += t.Units
	b.last = max(b.last, now)
}

func (b *BucketsState) Refund(_ int64, level *Level, at int64, t Spend) bool {
	if at == 0 || b.since == 0 || at < b.since {
		return false
	}
	if end := b.end(at, level); b.units[end] > 0 {
		b.units[end] = max(0, b.units[end]-t.Units)
	}
	return true
}

func (b *BucketsState) Value() any { return b }

func (b *BucketsState) Longest() time.Duration { return longestOf(b.keepers) }
