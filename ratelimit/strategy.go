package ratelimit

import (
	"fmt"
	"hash/fnv"
	"time"
)

// StrategyKind names a way to count. docs/strategies.md says what each lets through, and what it keeps.
type StrategyKind string

// The strategies. L is a window's limit, W its length.
const (
	SlidingLog     StrategyKind = "sliding-log"     // every unit is remembered: never more than L in any W
	SlidingBuckets StrategyKind = "sliding-buckets" // units are counted by bucket: never more than L, late by a bucket at most
	FixedWindow    StrategyKind = "fixed-window"    // one count a window: up to 2L around its end
	SlidingCounter StrategyKind = "sliding-counter" // two counts, the older in proportion: below 2L
	GCRA           StrategyKind = "gcra"            // token bucket: L + burst - 1
	Gate           StrategyKind = "gate"            // one per W/L, no bursts at all
	Backlog        StrategyKind = "backlog"         // admits while fewer than L entries wait in the outbox
)

// Anchor says where fixed windows begin.
type Anchor string

// The anchors.
const (
	First   Anchor = "first"   // with the first unit after the last window ended
	Aligned Anchor = "aligned" // on a grid that a hash of the key shifts, so that not all roll over at once
)

// Queue says what holds a backlog.
type Queue string

// The queues.
const (
	Stream Queue = "stream"
	List   Queue = "list"
)

// Strategy is a way to count, with its options. The zero value is the sliding log.
type Strategy struct {
	Kind   StrategyKind  // "" = SlidingLog
	Bucket time.Duration // SlidingBuckets: width of a bucket; 0 = a sixtieth of the longest window
	Anchor Anchor        // FixedWindow: "" = First
	Burst  int64         // GCRA: units at once; 0 = the window's limit
	Queue  Queue         // Backlog: "" = Stream
}

func (s Strategy) EffectiveKind() StrategyKind {
	if s.Kind == "" {
		return SlidingLog
	}
	return s.Kind
}

// tag names the strategy in the keys, so that a change of strategy never meets another's data.
func (s Strategy) Tag() string {
	switch s.EffectiveKind() {
	case Backlog:
		if s.Queue == List {
			return "backlog-list"
		}
		return "backlog-stream"
	default:
		return string(s.EffectiveKind())
	}
}

// check finds options that make no sense.
func (s Strategy) check() error {
	switch s.EffectiveKind() {
	case SlidingLog, SlidingCounter, Gate:
	case SlidingBuckets:
		if s.Bucket < 0 {
			return fmt.Errorf("a bucket of %s is too short", s.Bucket)
		}
	case FixedWindow:
		if s.Anchor != "" && s.Anchor != First && s.Anchor != Aligned {
			return fmt.Errorf("anchor %q is unknown", s.Anchor)
		}
	case GCRA:
		if s.Burst < 0 {
			return fmt.Errorf("a burst of %d is too small", s.Burst)
		}
	case Backlog:
		if s.Queue != "" && s.Queue != Stream && s.Queue != List {
			return fmt.Errorf("queue %q is unknown", s.Queue)
		}
	default:
		return fmt.Errorf("strategy %q is unknown", s.Kind)
	}
	return nil
}

// width is the width of a level's buckets in microseconds.
func (l Level) width() int64 {
	if l.Strategy.Bucket > 0 {
		return max(1, l.Strategy.Bucket.Microseconds())
	}
	return max(1, Longest(l.Windows).Microseconds()/60)
}

// phase shifts the grid of a level's windows, in microseconds; -1 = there is no grid.
func (l Level) GridPhase() int64 {
	if l.Strategy.Anchor != Aligned {
		return -1
	}
	h := fnv.New64a()
	h.Write([]byte(l.Key))
	return int64(h.Sum64() % uint64(Longest(l.Windows).Microseconds()+1)) //nolint:gosec // below a duration
}

// most is how many units a window of the level holds when it is full.
func (l Level) Capacity(w Window) int64 {
	switch l.Strategy.EffectiveKind() {
	case Gate:
		return min(1, w.Limit)
	case GCRA:
		return min(1, w.Limit) * l.burst()
	default:
		return w.Limit
	}
}

// burst is how many units a token bucket holds.
func (l Level) burst() int64 {
	if l.Strategy.Burst > 0 {
		return l.Strategy.Burst
	}
	return l.Windows[0].Limit
}

// option is the strategy's number in the plan of lua/admit.lua.
func (l Level) Option() int64 {
	switch l.Strategy.EffectiveKind() {
	case SlidingBuckets:
		return l.width()
	case FixedWindow:
		return l.GridPhase()
	case GCRA:
		return l.burst()
	default:
		return 0
	}
}

// drain is how long one unit of a token bucket takes to drain, in microseconds, rounded up.
func (w Window) drain() int64 { return (w.Per.Microseconds() + w.Limit - 1) / w.Limit }

// monotone tells whether a refusal holds until the time it names, whatever is admitted meanwhile.
func (s Strategy) Monotone() bool {
	switch s.EffectiveKind() {
	case SlidingLog, SlidingBuckets, FixedWindow, GCRA, Gate:
		return true
	default:
		return false
	}
}
