package ratelimit

import "time"

// MaxStep is how far a state may lie ahead of now, in microseconds, before it is moved: the clock went back.
const MaxStep = 5_000_000

// State is what a level has counted. Times are microseconds of the store's clock.
type State interface {
	// Load moves what lies more than [MaxStep] ahead of now, and ends windows that are over. It returns how far ahead
	// the state was, 0 where nothing was moved.
	Load(now int64, level *Level) (ahead int64)
	// Used is how many units of the level's w-th window are used.
	Used(now int64, level *Level, w int) int64
	// FitsAt is when units that exceed the w-th window now would fit, if nothing else is admitted. Reserved units of it
	// must stay free.
	FitsAt(now int64, level *Level, w int, units, reserved int64) int64
	// Add spends units.
	Add(now int64, level *Level, c Charge)
	// Refund gives back what was spent at a time, 0 = not known. It reports whether there was anything to give back.
	Refund(now int64, level *Level, at int64, c Charge) bool
	// Lasts is for how long from now on the state counts something, if nothing is added; 0 = it is not known.
	Lasts(now int64) time.Duration
	// Value is what is to be kept; see [Level.State].
	Value() any
}

// Charge is what a request spends at a level.
type Charge struct {
	ID     string // of the request
	Units  int64
	Number int64         // of its entry in the outbox
	Keep   time.Duration // the longest window that counts it
	Limit  int64         // the largest limit that counts it
}

// remember is how long a level keeps what a longer window of another configuration needs, after its last use.
const remember = 24 * time.Hour

// user is a configuration that uses a level: its longest window, with the largest limit of a log or the width of
// buckets.
type user struct {
	per   time.Duration
	other int64
}

// noteUser notes that a configuration uses a level now, and returns the one with the longest window of those that did
// within [remember].
func noteUser(users map[user]int64, now int64, own user) user {
	users[own] = now
	for u, used := range users {
		if used <= now-remember.Microseconds() {
			delete(users, u)
		} else if u.per > own.per {
			own = u
		}
	}
	return own
}

func longestOf(users map[user]int64) time.Duration {
	var longest time.Duration
	for u := range users {
		longest = max(longest, u.per)
	}
	return longest
}
