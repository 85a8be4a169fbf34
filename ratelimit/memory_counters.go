package ratelimit

import "time"

// numbers are the few numbers that a window of a level keeps, by its length. Which are used depends on the
// strategy: at and n (fixed window), and p (sliding counter), or tat (token bucket).
type numbers struct {
	windows map[time.Duration]*window
	since   int64 // when its first unit was taken, so that a refund from before a reset is known
}

type window struct {
	at  int64 // start of the window, microseconds
	n   int64 // units in it
	p   int64 // units in the one before
	tat int64 // when all has drained, microseconds
}

func (s *numbers) clone() *numbers {
	clone := &numbers{make(map[time.Duration]*window, len(s.windows)), s.since}
	for per, w := range s.windows {
		copied := *w
		clone.windows[per] = &copied
	}
	return clone
}

func (s *numbers) of(level *Level, w int) *window {
	per := level.Windows[w].Per
	if s.windows[per] == nil {
		s.windows[per] = &window{}
	}
	return s.windows[per]
}

// began notes when the first unit was taken.
func (s *numbers) began(now int64) {
	if s.since == 0 {
		s.since = now
	}
}

// take counts units in every window that runs.
func (s *numbers) take(now int64, level *Level, t taken) {
	s.began(now)
	for w := range level.Windows {
		s.of(level, w).n += t.units
	}
}

// knows tells whether what was taken at a time is in these numbers.
func (s *numbers) knows(at int64) bool { return at != 0 && s.since != 0 && at >= s.since }

// each loads every window and returns how far the worst lay ahead.
func (s *numbers) each(level *Level, load func(w *window, length Window) int64) (ahead int64) {
	for i, length := range level.Windows {
		if by := load(s.of(level, i), length); by > maxStep {
			ahead = max(ahead, by)
		}
	}
	return ahead
}

// fixedWindow counts the units of the window that runs.
type fixedWindow struct{ *numbers }

func (s *fixedWindow) load(now int64, level *Level) int64 {
	phase := level.phase()
	return s.each(level, func(w *window, length Window) int64 {
		per, start, ahead := length.Per.Microseconds(), now, w.at-now
		if phase >= 0 {
			start = (now+phase)/per*per - phase
		}
		if ahead > maxStep {
			w.at = start
		}
		if w.at+per <= now {
			w.at, w.n = start, 0
		}
		return ahead
	})
}

func (s *fixedWindow) used(_ int64, level *Level, w int) int64 { return s.of(level, w).n }

func (s *fixedWindow) fitsAt(_ int64, level *Level, w int, _, _ int64) int64 {
	return s.of(level, w).at + level.Windows[w].Per.Microseconds()
}

func (s *fixedWindow) refund(_ int64, level *Level, at int64, t taken) bool {
	if !s.knows(at) {
		return false
	}
	for w, length := range level.Windows {
		if window := s.of(level, w); at >= window.at && at < window.at+length.Per.Microseconds() {
			window.n = max(0, window.n-t.units)
		}
	}
	return true
}

// slidingCounter counts the window that runs, and the one before in proportion to what of it is still inside
// the rolling one.
type slidingCounter struct{ *numbers }

func (s *slidingCounter) load(now int64, level *Level) int64 {
	return s.each(level, func(w *window, length Window) int64 {
		per, ahead := length.Per.Microseconds(), w.at-now
		start := now / per * per
		if ahead > maxStep {
			w.at = start
		}
		if w.at < start {
			w.p = 0
			if w.at == start-per {
				w.p = w.n
			}
			w.at, w.n = start, 0
		}
		return ahead
	})
}

// used rounds the share of the window before up.
func (s *slidingCounter) used(now int64, level *Level, w int) int64 {
	window, per := s.of(level, w), level.Windows[w].Per.Microseconds()
	rest := per - max(0, now-window.at)
	return ceilDiv(window.p, rest, per) + window.n
}

func (s *slidingCounter) fitsAt(_ int64, level *Level, w int, units, _ int64) int64 {
	window, limit, per := s.of(level, w), level.Windows[w].Limit, level.Windows[w].Per.Microseconds()
	if room := limit - units - window.n; room >= 0 {
		return window.at + per - floorDiv(room, per, window.p)
	}
	return window.at + 2*per - floorDiv(limit-units, per, window.n)
}

func (s *slidingCounter) refund(_ int64, level *Level, at int64, t taken) bool {
	if !s.knows(at) {
		return false
	}
	for w, length := range level.Windows {
		window, per := s.of(level, w), length.Per.Microseconds()
		switch {
		case at >= window.at && at < window.at+per:
			window.n = max(0, window.n-t.units)
		case at >= window.at-per && at < window.at:
			window.p = max(0, window.p-t.units)
		}
	}
	return true
}

// gcra is a token bucket; with a burst of 1 it is the gate.
type gcra struct{ *numbers }

func (s *gcra) load(now int64, level *Level) int64 {
	return s.each(level, func(w *window, length Window) int64 {
		if length.Limit == 0 {
			return 0
		}
		fullest := now + level.most(length)*length.drain()
		ahead := w.tat - fullest
		if ahead > maxStep {
			w.tat = fullest
		}
		return ahead
	})
}

func (s *gcra) used(now int64, level *Level, w int) int64 {
	tat := s.of(level, w).tat
	if tat <= now || level.Windows[w].Limit == 0 {
		return 0
	}
	drain := level.Windows[w].drain()
	return (tat - now + drain - 1) / drain
}

func (s *gcra) fitsAt(_ int64, level *Level, w int, units, _ int64) int64 {
	length := level.Windows[w]
	return s.of(level, w).tat + (units-level.most(length))*length.drain()
}

func (s *gcra) take(now int64, level *Level, t taken) {
	s.began(now)
	for i, length := range level.Windows {
		if w := s.of(level, i); length.Limit > 0 {
			w.tat = max(now, w.tat) + t.units*length.drain()
		}
	}
}

// refund gives back only what cannot have drained yet.
func (s *gcra) refund(now int64, level *Level, at int64, t taken) bool {
	if !s.knows(at) {
		return false
	}
	for i, length := range level.Windows {
		w := s.of(level, i)
		if length.Limit == 0 || w.tat <= now {
			continue
		}
		if full := t.units * length.drain(); now-at < full {
			w.tat = max(now, w.tat-full)
		}
	}
	return true
}

// ceilDiv is a*b/c rounded up, floorDiv rounded down. Both are as exact as lua/admit.lua up to 2^53.
func ceilDiv(a, b, c int64) int64 { return (a*b + c - 1) / c }

func floorDiv(a, b, c int64) int64 { return a * b / c }
