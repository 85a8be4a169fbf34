package ratelimit

import (
	"slices"
	"sort"
	"time"

	"slackrelay/lua/memstore"
)

// maxStep is how far a state may lie ahead of now, in microseconds, before it is moved: the clock went back.
const maxStep = 5_000_000

// taken is what a request takes of a level, or gives back.
type taken struct {
	id     string
	units  int64
	number int64         // of the outbox entry
	keep   time.Duration // the longest window that counts it
	most   int64         // the largest limit
}

// state is what a level remembers. Times are in microseconds.
type state interface {
	// load moves what lies too far ahead of now, and ends what is over; it returns how far ahead it was.
	load(now int64, level *Level) (ahead int64)
	// used is how many units of a window are used.
	used(now int64, level *Level, w int) int64
	// fitsAt is when units that are too many for a window would fit, if nobody else commits.
	fitsAt(now int64, level *Level, w int, units, held int64) int64
	take(now int64, level *Level, t taken)
	// refund gives back what was taken at a time, 0 = not known, and tells whether there was anything.
	refund(now int64, level *Level, at int64, t taken) bool
	// longest is the longest window that uses it; 0 = it does not keep it.
	longest() time.Duration
	// value is what the store keeps.
	value() any
}

// stateOf is a copy of the state of a level, to be kept once something was taken: a refusal changes nothing.
func stateOf(tx *memstore.Tx, level *Level) (s state) {
	switch level.Strategy.kind() {
	case SlidingBuckets:
		s = memstore.LookOrNew[buckets](tx, level.Key).clone()
	case FixedWindow:
		s = &fixedWindow{memstore.LookOrNew[numbers](tx, level.Key).clone()}
	case SlidingCounter:
		s = &slidingCounter{memstore.LookOrNew[numbers](tx, level.Key).clone()}
	case GCRA, Gate:
		s = &gcra{memstore.LookOrNew[numbers](tx, level.Key).clone()}
	case Backlog:
		s = &backlog{memstore.LookOrNew[memstore.Backlog](tx, level.Key)}
	default:
		s = memstore.LookOrNew[admissions](tx, level.Key)
	}
	return s
}

// admissions are what one level of the sliding log admitted, oldest first, one a unit.
type admissions struct {
	entries []admission
	keepers map[keeper]int64
}

// keeper is a longest window that used a level, with the largest limit of a log or the width of buckets.
type keeper struct {
	per   time.Duration
	other int64
}

// keepOf notes that a configuration uses a level, and returns the longest of those that did within 24 h.
func keepOf(keepers map[keeper]int64, now int64, own keeper) keeper {
	keepers[own] = now
	for k, used := range keepers {
		if used <= now-remember.Microseconds() {
			delete(keepers, k)
		} else if k.per > own.per {
			own = k
		}
	}
	return own
}

func longestOf(keepers map[keeper]int64) (longest time.Duration) {
	for k := range keepers {
		longest = max(longest, k.per)
	}
	return longest
}

type admission struct {
	at int64
	id string
}

// load has nothing to do: what lies ahead goes on counting, and is moved when it makes the level refuse.
func (*admissions) load(int64, *Level) int64 { return 0 }

// edge is the time of the k-th newest entry, from 0; it is 0 when there is none.
func (a *admissions) edge(k int64) int64 {
	if k < 0 || k >= int64(len(a.entries)) {
		return 0
	}
	return a.entries[int64(len(a.entries))-1-k].at
}

// since counts what came after the given time.
func (a *admissions) since(after int64) int64 {
	i := sort.Search(len(a.entries), func(i int) bool { return a.entries[i].at > after })
	return int64(len(a.entries) - i)
}

func (a *admissions) used(now int64, level *Level, w int) int64 {
	return a.since(now - level.Windows[w].Per.Microseconds())
}

func (a *admissions) fitsAt(now int64, level *Level, w int, units, held int64) int64 {
	window := level.Windows[w]
	if rank := window.Limit - units - held; rank >= 0 {
		return a.edge(rank) + window.Per.Microseconds()
	}
	return now + window.Per.Microseconds()
}

// settle moves what lies ahead of now to now.
func (a *admissions) settle(now int64) {
	for i := range a.entries {
		a.entries[i].at = min(a.entries[i].at, now)
	}
}

// take forgets what no window counts; of what only another configuration counts, the newest are enough, twice its limit
// so that refunds leave enough.
func (a *admissions) take(now int64, _ *Level, t taken) {
	if a.keepers == nil {
		a.keepers = map[keeper]int64{}
	}
	most := int64(0)
	keepOf(a.keepers, now, keeper{t.keep, t.most})
	keep := t.keep
	for k := range a.keepers {
		if k != (keeper{t.keep, t.most}) {
			keep, most = max(keep, k.per), max(most, 2*k.other)
		}
	}
	counted := min(a.since(now-keep.Microseconds()), max(most, a.since(now-t.keep.Microseconds())))
	a.entries = a.entries[int64(len(a.entries))-counted:]
	i := int64(len(a.entries)) - a.since(now)
	for range t.units {
		a.entries = slices.Insert(a.entries, int(i), admission{now, t.id})
	}
}

func (a *admissions) refund(_ int64, _ *Level, _ int64, t taken) bool {
	before := len(a.entries)
	a.entries = slices.DeleteFunc(a.entries, func(e admission) bool { return e.id == t.id })
	return len(a.entries) < before
}

// backlog counts the entries of the outbox that the level admitted and that still wait.
type backlog struct{ *memstore.Backlog }

func (*backlog) load(int64, *Level) int64 { return 0 }

func (b *backlog) used(int64, *Level, int) int64 { return int64(len(b.Numbers)) }

// backlogAgain is when to look at a full backlog again: nobody knows when it shrinks.
const backlogAgain = 100_000

func (*backlog) fitsAt(now int64, _ *Level, _ int, _, _ int64) int64 { return now + backlogAgain }

func (b *backlog) take(_ int64, _ *Level, t taken) {
	for range t.units {
		b.Numbers = append(b.Numbers, t.number)
	}
}

func (*backlog) refund(_ int64, _ *Level, at int64, _ taken) bool { return at != 0 }

func (a *admissions) value() any { return a }

func (b *backlog) value() any { return b.Backlog }

func (a *admissions) longest() time.Duration { return longestOf(a.keepers) }

func (*backlog) longest() time.Duration { return 0 }
