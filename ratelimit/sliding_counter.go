package ratelimit

import "time"

// SlidingCounter keeps two counts, and weighs the older one in proportion: below 2L.
const SlidingCounter StrategyKind = "sliding-counter"

var slidingCounter = method{
	kind:  SlidingCounter,
	state: func(kept any) State { return &slidingCounterState{countsOf(kept)} },
}

// slidingCounterState counts the current window, and the one before in proportion to what of it is still inside
// the rolling one.
type slidingCounterState struct{ *windowCounts }

func (*slidingCounterState) name(length Window) windowName { return windowName{per: length.Per} }

func (*slidingCounterState) adopt(int64, *Level, Window, *window) {}

func (*slidingCounterState) roll(now, back, _ int64, name windowName, w *window) {
	per := name.per.Microseconds()
	start := now / per * per
	if back > 0 {
		w.at = min(w.at, start)
	}
	if w.at < start {
		w.p = 0
		if w.at == start-per {
			w.p = w.n
		}
		w.at, w.n = start, 0
	}
}

func (*slidingCounterState) add(_, _ int64, _ windowName, w *window, units int64) { w.n += units }

// Load implements [State].
func (s *slidingCounterState) Load(now int64, level *Level) int64 {
	return s.windowCounts.Load(now, level, s)
}

// Add implements [State].
func (s *slidingCounterState) Add(now int64, level *Level, c Charge) {
	s.windowCounts.Add(now, level, c.Units, s)
}

// Used rounds the share of the window before up.
func (s *slidingCounterState) Used(now int64, level *Level, w int) int64 {
	name := s.name(level.Windows[w])
	window, per := s.windows[name], name.per.Microseconds()
	rest := per - max(0, now-window.at)
	return ceilDiv(window.p, rest, per) + window.n
}

// Lasts implements [State]. A window's count still matters in the next one.
func (s *slidingCounterState) Lasts(now int64) time.Duration { return 2 * s.windowCounts.Lasts(now) }

// FitsAt implements [State].
func (s *slidingCounterState) FitsAt(_ int64, level *Level, w int, units, _ int64) int64 {
	name, limit := s.name(level.Windows[w]), level.Windows[w].Limit
	window, per := s.windows[name], name.per.Microseconds()
	if room := limit - units - window.n; room >= 0 {
		return window.at + per - floorDiv(room, per, window.p)
	}
	return window.at + 2*per - floorDiv(limit-units, per, window.n)
}

// Refund implements [State].
func (s *slidingCounterState) Refund(_ int64, _ *Level, at int64, c Charge) bool {
	if !s.knows(at) {
		return false
	}
	for name, w := range s.windows {
		per := name.per.Microseconds()
		switch {
		case at >= w.at && at < w.at+per:
			w.n = max(0, w.n-c.Units)
		case at >= w.at-per && at < w.at:
			w.p = max(0, w.p-c.Units)
		}
	}
	return true
}
