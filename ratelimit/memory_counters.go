package ratelimit

// fixedWindow counts the units of the window that runs.
type fixedWindow struct{ *numbers }

func (*fixedWindow) name(length Window) windowName { return windowName{per: length.Per} }

func (*fixedWindow) adopt(int64, *Level, Window, *window) {}

// roll lets a grid go on where the last window ended, so that a step of the clock makes no window shorter.
func (*fixedWindow) roll(now, back, phase int64, name windowName, w *window) {
	per := name.per.Microseconds()
	if back > 0 {
		w.at = min(w.at, now)
	}
	ends := w.at + per
	switch {
	case ends > now && (w.n > 0 || phase >= 0):
		return
	case phase < 0:
		w.at = now
	case ends+per > now:
		w.at = ends
	default:
		w.at = (now+phase)/per*per - phase
	}
	w.n, w.first = 0, 0
}

func (*fixedWindow) add(now, phase int64, _ windowName, w *window, units int64) {
	w.n += units
	if w.at == now && phase < 0 {
		w.first += units
	}
}

func (s *fixedWindow) load(now int64, level *Level) int64 { return s.numbers.load(now, level, s) }

func (s *fixedWindow) take(now int64, level *Level, t taken) { s.numbers.take(now, level, t.units, s) }

func (s *fixedWindow) used(_ int64, level *Level, w int) int64 {
	return s.windows[s.name(level.Windows[w])].n
}

func (s *fixedWindow) fitsAt(_ int64, level *Level, w int, _, _ int64) int64 {
	name := s.name(level.Windows[w])
	return s.windows[name].at + name.per.Microseconds()
}

// refund lets a window that began with a unit go on counting one there, or what remains would be in two windows' time.
func (s *fixedWindow) refund(_ int64, _ *Level, at int64, t taken) bool {
	if !s.knows(at) {
		return false
	}
	for name, w := range s.windows {
		if at < w.at || at >= w.at+name.per.Microseconds() {
			continue
		}
		w.n = max(0, w.n-t.units)
		if w.first > 0 && at == w.at {
			if w.first = max(0, w.first-t.units); w.first == 0 && w.n > 0 {
				w.first, w.n = 1, w.n+1
			}
		}
	}
	return true
}

// slidingCounter counts the window that runs, and the one before in proportion to what of it is still inside
// the rolling one.
type slidingCounter struct{ *numbers }

func (*slidingCounter) name(length Window) windowName { return windowName{per: length.Per} }

func (*slidingCounter) adopt(int64, *Level, Window, *window) {}

func (*slidingCounter) roll(now, back, _ int64, name windowName, w *window) {
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

func (*slidingCounter) add(_, _ int64, _ windowName, w *window, units int64) { w.n += units }

func (s *slidingCounter) load(now int64, level *Level) int64 { return s.numbers.load(now, level, s) }

func (s *slidingCounter) take(now int64, level *Level, t taken) {
	s.numbers.take(now, level, t.units, s)
}

// used rounds the share of the window before up.
func (s *slidingCounter) used(now int64, level *Level, w int) int64 {
	name := s.name(level.Windows[w])
	window, per := s.windows[name], name.per.Microseconds()
	rest := per - max(0, now-window.at)
	return ceilDiv(window.p, rest, per) + window.n
}

func (s *slidingCounter) fitsAt(_ int64, level *Level, w int, units, _ int64) int64 {
	name, limit := s.name(level.Windows[w]), level.Windows[w].Limit
	window, per := s.windows[name], name.per.Microseconds()
	if room := limit - units - window.n; room >= 0 {
		return window.at + per - floorDiv(room, per, window.p)
	}
	return window.at + 2*per - floorDiv(limit-units, per, window.n)
}

func (s *slidingCounter) refund(_ int64, _ *Level, at int64, t taken) bool {
	if !s.knows(at) {
		return false
	}
	for name, w := range s.windows {
		per := name.per.Microseconds()
		switch {
		case at >= w.at && at < w.at+per:
			w.n = max(0, w.n-t.units)
		case at >= w.at-per && at < w.at:
			w.p = max(0, w.p-t.units)
		}
	}
	return true
}

// gcra is a token bucket; with a burst of 1 it is the gate.
type gcra struct{ *numbers }

func (*gcra) name(length Window) windowName {
	if length.Limit == 0 {
		return windowName{per: length.Per}
	}
	return windowName{length.Per, length.drain()}
}

// adopt lets a bucket whose limit changed hold the units that it held before, as many as it can.
func (s *gcra) adopt(now int64, level *Level, length Window, w *window) {
	if length.Limit == 0 {
		return
	}
	for name, other := range s.windows {
		if left := other.tat - now; name.per == length.Per && name.drain > 0 && left > 0 {
			drain := length.drain()
			full := level.most(length) * drain
			w.tat = max(w.tat, now+min(floorDiv(left, drain, name.drain), full))
		}
	}
}

func (*gcra) roll(_, back, _ int64, _ windowName, w *window) { w.tat -= back }

func (*gcra) add(now, _ int64, name windowName, w *window, units int64) {
	if name.drain > 0 {
		w.tat = max(now, w.tat) + units*name.drain
	}
}

func (s *gcra) load(now int64, level *Level) int64 { return s.numbers.load(now, level, s) }

func (s *gcra) take(now int64, level *Level, t taken) { s.numbers.take(now, level, t.units, s) }

func (s *gcra) used(now int64, level *Level, w int) int64 {
	name := s.name(level.Windows[w])
	if tat := s.windows[name].tat; tat > now && name.drain > 0 {
		return (tat - now + name.drain - 1) / name.drain
	}
	return 0
}

func (s *gcra) fitsAt(_ int64, level *Level, w int, units, _ int64) int64 {
	length := level.Windows[w]
	name := s.name(length)
	return s.windows[name].tat + (units-level.most(length))*name.drain
}

// refund gives back only what cannot have drained yet.
func (s *gcra) refund(now int64, _ *Level, at int64, t taken) bool {
	if !s.knows(at) {
		return false
	}
	for name, w := range s.windows {
		if full := t.units * name.drain; w.tat > now && now-at < full {
			w.tat = max(now, w.tat-full)
		}
	}
	return true
}

// ceilDiv is a*b/c rounded up, floorDiv rounded down. Both are as exact as lua/admit.lua up to 2^53.
func ceilDiv(a, b, c int64) int64 { return (a*b + c - 1) / c }

func floorDiv(a, b, c int64) int64 { return a * b / c }
