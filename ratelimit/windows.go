package ratelimit

import (
	"maps"
	"time"
)

// ceilDiv is a*b/c rounded up, and floorDiv rounded down. Both are as exact as the scripts up to 2^53.
func ceilDiv(a, b, c int64) int64 { return (a*b + c - 1) / c }

func floorDiv(a, b, c int64) int64 { return a * b / c }

// windowCounts is what a level keeps of each window that uses it, by what names the window. Windows that are not the level's
// belong to a replica with another configuration: they count what is spent as they would by themselves, until 24 h after that
// replica's last use.
type windowCounts struct {
	windows map[windowName]*window
	since   int64 // when its first unit was spent, so that a refund from before a reset is known
	last    int64 // when its last one was, so that a step of the clock is known
}

// windowName is the length of a window, and of a token bucket how long one unit takes to drain, in microseconds.
type windowName struct {
	per   time.Duration
	drain int64
}

// window is a few numbers. Which are used depends on the strategy: at and n (fixed window), and p (sliding counter), or
// tat (token bucket). Times are in microseconds.
type window struct {
	at    int64 // start of the window
	n     int64 // units in it
	first int64 // units at its start
	p     int64 // units in the one before
	tat   int64 // when all has drained
	used  int64 // when another configuration last used it; 0 = it is the level's own
	isNew bool  // no unit was added to it yet: it is not kept
}

// windowKind is how a strategy counts in a window.
type windowKind interface {
	name(length Window) windowName
	// adopt begins a window that the level did not have yet.
	adopt(now int64, level *Level, length Window, w *window)
	// roll ends what is over, where the clock went back by so much since.
	roll(now, back int64, phase int64, name windowName, w *window)
	// add spends units.
	add(now int64, phase int64, name windowName, w *window, units int64)
}

func (s *windowCounts) clone() *windowCounts {
	clone := &windowCounts{make(map[windowName]*window, len(s.windows)), s.since, s.last}
	for name, w := range s.windows {
		if !w.isNew {
			copied := *w
			clone.windows[name] = &copied
		}
	}
	return clone
}

// Load reads the level's windows, and returns how far the clock went back since they were written.
func (s *windowCounts) Load(now int64, level *Level, kind windowKind) (back int64) {
	last := s.last
	if back = last - now; back > MaxStep {
		s.last, s.since = now, min(s.since, now)
	} else {
		back = 0
	}
	for _, length := range level.Windows {
		name := kind.name(length)
		w := s.windows[name]
		if w == nil {
			w = &window{isNew: true}
			kind.adopt(now+back, level, length, w)
			s.windows[name] = w
		}
		w.used = 0
		kind.roll(now, back, level.GridPhase(), name, w)
	}
	if back > 0 {
		for name, w := range s.others(level, kind) {
			s.keepOther(now, last, name, w)
			kind.roll(now, back, -1, name, w)
		}
	}
	return back
}

// others are the windows that are not the level's.
func (s *windowCounts) others(level *Level, kind windowKind) map[windowName]*window {
	others := maps.Clone(s.windows)
	for _, length := range level.Windows {
		delete(others, kind.name(length))
	}
	return others
}

// keepOther notes when another window was last used, and forgets it where that is long ago.
func (s *windowCounts) keepOther(now, last int64, name windowName, w *window) (kept bool) {
	if w.used == 0 {
		w.used = last
	}
	w.used = min(w.used, now)
	if w.used <= now-remember.Microseconds() {
		delete(s.windows, name)
		return false
	}
	return true
}

// Add counts units in every window.
func (s *windowCounts) Add(now int64, level *Level, units int64, kind windowKind) {
	if s.since == 0 {
		s.since = now
	}
	for name, w := range s.others(level, kind) {
		if s.keepOther(now, s.last, name, w) {
			kind.roll(now, 0, -1, name, w)
			kind.add(now, -1, name, w, units)
		}
	}
	for _, length := range level.Windows {
		name := kind.name(length)
		w := s.windows[name]
		w.isNew = false
		kind.add(now, level.GridPhase(), name, w, units)
	}
	s.last = max(s.last, now)
}

// knows reports whether what was spent at a time is in these counts.
func (s *windowCounts) knows(at int64) bool { return s.since != 0 && at >= s.since }

// Lasts implements [State].
func (s *windowCounts) Lasts(now int64) (lasts time.Duration) {
	for name, w := range s.windows {
		if w.isNew {
			continue
		}
		lasts = max(lasts, name.per, time.Duration(w.tat-now)*time.Microsecond)
	}
	return lasts
}

// Value implements [State].
func (s *windowCounts) Value() any { return s }

// countsOf returns a copy of the counts that are kept; nil = none are.
func countsOf(kept any) *windowCounts {
	if counts, ok := kept.(*windowCounts); ok {
		return counts.clone()
	}
	return (&windowCounts{}).clone()
}
