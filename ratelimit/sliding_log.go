package ratelimit

import (
	"slices"
	"sort"
	"time"
)

// admissions are what one level of the sliding log admitted, oldest first, one a unit.
type LogState struct {
	entries []admission
	keepers map[keeper]int64
}

type admission struct {
	at int64
	id string
}

// load has nothing to do: what lies ahead goes on counting, and is moved when it makes the level refuse.
func (*LogState) Load(int64, *Level) int64 { return 0 }

// edge is the time of the k-th newest entry, from 0; it is 0 when there is none.
func (a *LogState) Edge(k int64) int64 {
	if k < 0 || k >= int64(len(a.entries)) {
		return 0
	}
	return a.entries[int64(len(a.entries))-1-k].at
}

// since counts what came after the given time.
func (a *LogState) Since(after int64) int64 {
	i := sort.Search(len(a.entries), func(i int) bool { return a.entries[i].at > after })
	return int64(len(a.entries) - i)
}

func (a *LogState) Used(now int64, level *Level, w int) int64 {
	return a.Since(now - level.Windows[w].Per.Microseconds())
}

func (a *LogState) FitsAt(now int64, level *Level, w int, units, held int64) int64 {
	window := level.Windows[w]
	if rank := window.Limit - units - held; rank >= 0 {
		return a.Edge(rank) + window.Per.Microseconds()
	}
	return now + window.Per.Microseconds()
}

// settle moves what lies ahead of now to now.
func (a *LogState) Settle(now int64) {
	for i := range a.entries {
		a.entries[i].at = min(a.entries[i].at, now)
	}
}

// take forgets what no window counts; of what only another configuration counts, the newest are enough, twice its limit
// so that refunds leave enough.
func (a *LogState) Take(now int64, _ *Level, t Spend) {
	if a.keepers == nil {
		a.keepers = map[keeper]int64{}
	}
	most := int64(0)
	keepOf(a.keepers, now, keeper{t.Keep, t.Most})
	keep := t.Keep
	for k := range a.keepers {
		if k != (keeper{t.Keep, t.Most}) {
			keep, most = max(keep, k.per), max(most, 2*k.other)
		}
	}
	counted := min(a.Since(now-keep.Microseconds()), max(most, a.Since(now-t.Keep.Microseconds())))
	a.entries = a.entries[int64(len(a.entries))-counted:]
	i := int64(len(a.entries)) - a.Since(now)
	for range t.Units {
		a.entries = slices.Insert(a.entries, int(i), admission{now, t.ID})
	}
}

func (a *LogState) Refund(_ int64, _ *Level, _ int64, t Spend) bool {
	before := len(a.entries)
	a.entries = slices.DeleteFunc(a.entries, func(e admission) bool { return e.id == t.ID })
	return len(a.entries) < before
}

func (a *LogState) Value() any { return a }

func (a *LogState) Longest() time.Duration { return longestOf(a.keepers) }
