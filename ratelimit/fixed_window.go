package ratelimit

// fixedWindow counts the units of the window that runs.
type FixedWindowState struct{ *WindowCounts }

func (*FixedWindowState) name(length Window) windowName { return windowName{per: length.Per} }

func (*FixedWindowState) adopt(int64, *Level, Window, *window) {}

// roll lets a grid go on where the last window ended, so that a step of the clock makes no window shorter.
func (*FixedWindowState) roll(now, back, phase int64, name windowName, w *window) {
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

func (*FixedWindowState) add(now, phase int64, _ windowName, w *window, units int64) {
	w.n += units
	if w.at == now && phase < 0 {
		w.first += units
	}
}

func (s *FixedWindowState) Load(now int64, level *Level) int64 {
	return s.WindowCounts.Load(now, level, s)
}

func (s *FixedWindowState) Take(now int64, level *Level, t Spend) {
	s.WindowCounts.Take(now, level, t.Units, s)
}

func (s *FixedWindowState) Used(_ int64, level *Level, w int) int64 {
	return s.windows[s.name(level.Windows[w])].n
}

func (s *FixedWindowState) FitsAt(_ int64, level *Level, w int, _, _ int64) int64 {
	name := s.name(level.Windows[w])
	return s.windows[name].at + name.per.Microseconds()
}

// refund lets a window that began with a unit go on counting one there, or what remains would be in two windows' time.
func (s *FixedWindowState) Refund(_ int64, _ *Level, at int64, t Spend) bool {
	if !s.knows(at) {
		return false
	}
	for name, w := range s.windows {
		if at < w.at || at >= w.at+name.per.Microseconds() {
			continue
		}
		w.n = max(0, w.n-t.Units)
		if w.first > 0 && at == w.at {
			if w.first = max(0, w.first-t.Units); w.first == 0 && w.n > 0 {
				w.first, w.n = 1, w.n+1
			}
		}
	}
	return true
}
