// Package ratelimit is what a limit is: windows, levels, strategies that count, fairness between categories, and what is
// asked of a [Limiter] and answered. [Wait] and [Do] work with any limiter.
//
// A request passes when every window of every one of its levels has room for its units; otherwise nothing is spent at
// any level. With the default strategy, for every instant x, every level and every window of length W, the units
// admitted in (x-W, x] never exceed the limit. The other strategies keep less and promise less: docs/strategies.md
// compares them.
//
// The package has no storage and no goroutines, and its strategies have no clock. A store asks the [State] of each level
// and keeps what it returns. The scripts of package lua count in the same way, and tests hold the two equal.
package ratelimit

import "time"

// Window admits at most Limit units in any half-open interval of length Per.
type Window struct {
	Limit int64
	Per   time.Duration
}

// drain is how long one unit of a token bucket takes to drain, in microseconds, rounded up.
func (w Window) drain() int64 { return (w.Per.Microseconds() + w.Limit - 1) / w.Limit }

// Longest returns the length of the longest window.
func Longest(windows []Window) time.Duration {
	var per time.Duration
	for _, w := range windows {
		per = max(per, w.Per)
	}
	return per
}

// LargestLimit returns the largest limit of the windows.
func LargestLimit(windows []Window) int64 {
	var limit int64
	for _, w := range windows {
		limit = max(limit, w.Limit)
	}
	return limit
}
