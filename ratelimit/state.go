package ratelimit

import (
	"time"
)

// maxStep is how far a state may lie ahead of now, in microseconds, before it is moved: the clock went back.
const MaxStep = 5_000_000

// taken is what a request takes of a level, or gives back.
type Spend struct {
	ID     string
	Units  int64
	Number int64         // of the outbox entry
	Keep   time.Duration // the longest window that counts it
	Most   int64         // the largest limit
}

// state is what a level remembers. Times are in microseconds.
type State interface {
	// load moves what lies too far ahead of now, and ends what is over; it returns how far ahead it was.
	Load(now int64, level *Level) (ahead int64)
	// used is how many units of a window are used.
	Used(now int64, level *Level, w int) int64
	// fitsAt is when units that are too many for a window would fit, if nobody else commits.
	FitsAt(now int64, level *Level, w int, units, held int64) int64
	Take(now int64, level *Level, t Spend)
	// refund gives back what was taken at a time, 0 = not known, and tells whether there was anything.
	Refund(now int64, level *Level, at int64, t Spend) bool
	// longest is the longest window that uses it; 0 = it does not keep it.
	Longest() time.Duration
	// value is what the store keeps.
	Value() any
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
