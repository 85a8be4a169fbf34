package ratelimit

import "fmt"

// The two strategies of the token bucket.
const (
	GCRA StrategyKind = "gcra" // L + burst - 1
	Gate StrategyKind = "gate" // one unit per W/L, no bursts at all
)

var gcra = method{
	kind:     GCRA,
	monotone: true,
	check: func(s Strategy) error {
		if s.Burst < 0 {
			return fmt.Errorf("a burst of %d is too small", s.Burst)
		}
		return nil
	},
	capacity: func(l *Level, w Window) int64 { return min(1, w.Limit) * burst(l) },
	option:   burst,
	state:    tokenBucket,
}

var gate = method{
	kind:     Gate,
	monotone: true,
	capacity: func(_ *Level, w Window) int64 { return min(1, w.Limit) },
	state:    tokenBucket,
}

func tokenBucket(kept any) State { return &tokenBucketState{countsOf(kept)} }

// burst is how many units a token bucket holds.
func burst(l *Level) int64 {
	if l.Strategy.Burst > 0 {
		return l.Strategy.Burst
	}
	return l.Windows[0].Limit
}

// tokenBucketState is a token bucket; with a burst of 1 it is the gate.
type tokenBucketState struct{ *windowCounts }

func (*tokenBucketState) name(length Window) windowName {
	if length.Limit == 0 {
		return windowName{per: length.Per}
	}
	return windowName{length.Per, length.drain()}
}

// adopt lets a bucket whose limit changed hold the units that it held before, as many as it can.
func (s *tokenBucketState) adopt(now int64, level *Level, length Window, w *window) {
	if length.Limit == 0 {
		return
	}
	for name, other := range s.windows {
		if left := other.tat - now; name.per == length.Per && left > 0 {
			drain := length.drain()
			drainsIn := int64(float64(left) * float64(drain) / float64(name.drain)) // as the scripts count; the product may exceed 64 bits
			w.tat = max(w.tat, now+min(drainsIn, level.Capacity(length)*drain))
		}
	}
}

func (*tokenBucketState) roll(_, back, _ int64, _ windowName, w *window) { w.tat -= back }

func (*tokenBucketState) add(now, _ int64, name windowName, w *window, units int64) {
	if name.drain > 0 {
		w.tat = max(now, w.tat) + units*name.drain
	}
}

// Load implements [State].
func (s *tokenBucketState) Load(now int64, level *Level) int64 {
	return s.windowCounts.Load(now, level, s)
}

// Add implements [State].
func (s *tokenBucketState) Add(now int64, level *Level, c Charge) {
	s.windowCounts.Add(now, level, c.Units, s)
}

// Used implements [State].
func (s *tokenBucketState) Used(now int64, level *Level, w int) int64 {
	name := s.name(level.Windows[w])
	if tat := s.windows[name].tat; tat > now {
		return (tat - now + name.drain - 1) / name.drain
	}
	return 0
}

// FitsAt implements [State].
func (s *tokenBucketState) FitsAt(_ int64, level *Level, w int, units, _ int64) int64 {
	length := level.Windows[w]
	name := s.name(length)
	return s.windows[name].tat + (units-level.Capacity(length))*name.drain
}

// Refund gives back only what cannot have drained yet.
func (s *tokenBucketState) Refund(now int64, _ *Level, at int64, c Charge) bool {
	if !s.knows(at) {
		return false
	}
	for name, w := range s.windows {
		if full := c.Units * name.drain; w.tat > now && now-at < full {
			w.tat = max(now, w.tat-full)
		}
	}
	return true
}
