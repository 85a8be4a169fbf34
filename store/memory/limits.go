package memory

import (
	"slackrelay/ratelimit"
)

// stateOf is a copy of the state of a level, to be kept once something was taken: a refusal changes nothing.
func stateOf(tx *Tx, level *ratelimit.Level) (s ratelimit.State) {
	switch level.Strategy.EffectiveKind() {
	case ratelimit.SlidingBuckets:
		s = LookOrNew[ratelimit.BucketsState](tx, level.Key).Clone()
	case ratelimit.FixedWindow:
		s = &ratelimit.FixedWindowState{WindowCounts: LookOrNew[ratelimit.WindowCounts](tx, level.Key).Clone()}
	case ratelimit.SlidingCounter:
		s = &ratelimit.SlidingCounterState{WindowCounts: LookOrNew[ratelimit.WindowCounts](tx, level.Key).Clone()}
	case ratelimit.GCRA, ratelimit.Gate:
		s = &ratelimit.TokenBucketState{WindowCounts: LookOrNew[ratelimit.WindowCounts](tx, level.Key).Clone()}
	case ratelimit.Backlog:
		s = &ratelimit.BacklogState{BacklogQueue: LookOrNew[ratelimit.BacklogQueue](tx, level.Key)}
	default:
		s = LookOrNew[ratelimit.LogState](tx, level.Key)
	}
	return s
}
