package ratelimit

import (
	"fmt"
	"hash/fnv"
)

// FixedWindow keeps one count for each window: up to 2L around its end.
const FixedWindow StrategyKind = "fixed-window"

// Anchor is where fixed windows begin.
type Anchor string

// The anchors.
const (
	First   Anchor = "first"   // with the first unit after the last window ended
	Aligned Anchor = "aligned" // on a grid that a hash of the key shifts, so that not all levels start a window at once
)

var fixedWindow = method{
	kind:     FixedWindow,
	monotone: true,
	check: func(s Strategy) error {
		if s.Anchor != "" && s.Anchor != First && s.Anchor != Aligned {
			return fmt.Errorf("anchor %q is unknown", s.Anchor)
		}
		return nil
	},
	option: func(l *Level) int64 { return l.GridPhase() },
	state:  func(kept any) State { return &fixedWindowState{countsOf(kept)} },
}

// GridPhase shifts the grid of a level's windows, in microseconds; -1 = there is no grid.
func (l Level) GridPhase() int64 {
	if l.Strategy.Anchor != Aligned {
		return -1
	}
	h := fnv.New64a()
	h.Write([]byte(l.Key))
	return int64(h.Sum64() % uint64(Longest(l.Windows).Microseconds()+1)) //nolint:gosec // below a duration
}

// fixedWindowState counts the units of the current window.
type fixedWindowState struct{ *windowCounts }

func (*fixedWindowState) name(length Window) windowName { return windowName{per: length.Per} }

func (*fixedWindowState) adopt(int64, *Level, Window, *window) {}

// roll lets a grid go on where the last window ended, so that a step of the clock makes no window shorter.
func (*fixedWindowState) roll(now, back, phase int64, name windowName, w *window) {
	per := name.per.Microseconds()
	switch {
	case back > 0 && w.n > 0:
		w.at = min(w.at, now)
	case back > 0: // an empty one begins anew
		w.at = 0
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

func (*fixedWindowState) add(now, phase int64, _ windowName, w *window, units int64) {
	w.n += units
	if w.at == now && phase < 0 {
		w.first += units
	}
}

// Load implements [State].
func (s *fixedWindowState) Load(now int64, level *Level) int64 {
	return s.windowCounts.Load(now, level, s)
}

// Add implements [State].
func (s *fixedWindowState) Add(now int64, level *Level, c Charge) {
	s.windowCounts.Add(now, level, c.Units, s)
}

// Used implements [State].
func (s *fixedWindowState) Used(_ int64, level *Level, w int) int64 {
	return s.windows[s.name(level.Windows[w])].n
}

// FitsAt implements [State].
func (s *fixedWindowState) FitsAt(_ int64, level *Level, w int, _, _ int64) int64 {
	name := s.name(level.Windows[w])
	return s.windows[name].at + name.per.Microseconds()
}

// Refund lets a window that began with a unit keep one unit there; otherwise the remaining units could fall into two windows.
func (s *fixedWindowState) Refund(_ int64, _ *Level, at int64, c Charge) bool {
	if !s.knows(at) {
		return false
	}
	for name, w := range s.windows {
		if at < w.at || at >= w.at+name.per.Microseconds() {
			continue
		}
		w.n = max(0, w.n-c.Units)
		if w.first > 0 && at == w.at {
			if w.first = max(0, w.first-c.Units); w.first == 0 && w.n > 0 {
				w.first, w.n = 1, w.n+1
			}
		}
	}
	return true
}
