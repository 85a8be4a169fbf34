package ratelimit

// slidingCounter counts the window that runs, and the one before in proportion to what of it is still inside
// the rolling one.
type SlidingCounterState struct{ *WindowCounts }

func (*SlidingCounterState) name(length Window) windowName { return windowName{per: length.Per} }

func (*SlidingCounterState) adopt(int64, *Level, Window, *window) {}

func (*SlidingCounterState) roll(now, back, _ int64, name windowName, w *window) {
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

func (*SlidingCounterState) add(_, _ int64, _ windowName, w *window, units int64) { w.n += units }

func (s *SlidingCounterState) Load(now int64, level *Level) int64 {
	return s.WindowCounts.Load(now, level, s)
}

func (s *SlidingCounterState) Take(now int64, level *Level, t Spend) {
	s.WindowCounts.Take(now, level, t.Units, s)
}

// used rounds the share of the window before up.
func (s *SlidingCounterState) Used(now int64, level *Level, w int) int64 {
	name := s.name(level.Windows[w])
	window, per := s.windows[name], name.per.Microseconds()
	rest := per - max(0, now-window.at)
	return ceilDiv(window.p, rest, per) + window.n
}

func (s *SlidingCounterState) FitsAt(_ int64, level *Level, w int, units, _ int64) int64 {
	name, limit := s.name(level.Windows[w]), level.Windows[w].Limit
	window, per := s.windows[name], name.per.Microseconds()
	if room := limit - units - window.n; room >= 0 {
		return window.at + per - floorDiv(room, per, window.p)
	}
	return window.at + 2*per - floorDiv(limit-units, per, window.n)
}

func (s *SlidingCounterState) Refund(_ int64, _ *Level, at int64, t Spend) bool {
	if !s.knows(at) {
		return false
	}
	for name, w := range s.windows {
		per := name.per.Microseconds()
		switch {
		case at >= w.at && at < w.at+per:
			w.n = max(0, w.n-t.Units)
		case at >= w.at-per && at < w.at:
			w.p = max(0, w.p-t.Units)
		}
	}
	return true
}
