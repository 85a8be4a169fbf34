package ratelimit

// gcra is a token bucket; with a burst of 1 it is the gate.
type TokenBucketState struct{ *WindowCounts }

func (*TokenBucketState) name(length Window) windowName {
	if length.Limit == 0 {
		return windowName{per: length.Per}
	}
	return windowName{length.Per, length.drain()}
}

// adopt lets a bucket whose limit changed hold the units that it held before, as many as it can.
func (s *TokenBucketState) adopt(now int64, level *Level, length Window, w *window) {
	if length.Limit == 0 {
		return
	}
	for name, other := range s.windows {
		if left := other.tat - now; name.per == length.Per && name.drain > 0 && left > 0 {
			drain := length.drain()
			full := level.Capacity(length) * drain
			w.tat = max(w.tat, now+min(floorDiv(left, drain, name.drain), full))
		}
	}
}

func (*TokenBucketState) roll(_, back, _ int64, _ windowName, w *window) { w.tat -= back }

func (*TokenBucketState) add(now, _ int64, name windowName, w *window, units int64) {
	if name.drain > 0 {
		w.tat = max(now, w.tat) + units*name.drain
	}
}

func (s *TokenBucketState) Load(now int64, level *Level) int64 {
	return s.WindowCounts.Load(now, level, s)
}

func (s *TokenBucketState) Take(now int64, level *Level, t Spend) {
	s.WindowCounts.Take(now, level, t.Units, s)
}

func (s *TokenBucketState) Used(now int64, level *Level, w int) int64 {
	name := s.name(level.Windows[w])
	if tat := s.windows[name].tat; tat > now && name.drain > 0 {
		return (tat - now + name.drain - 1) / name.drain
	}
	return 0
}

func (s *TokenBucketState) FitsAt(_ int64, level *Level, w int, units, _ int64) int64 {
	length := level.Windows[w]
	name := s.name(length)
	return s.windows[name].tat + (units-level.Capacity(length))*name.drain
}

// refund gives back only what cannot have drained yet.
func (s *TokenBucketState) Refund(now int64, _ *Level, at int64, t Spend) bool {
	if !s.knows(at) {
		return false
	}
	for name, w := range s.windows {
		if full := t.Units * name.drain; w.tat > now && now-at < full {
			w.tat = max(now, w.tat-full)
		}
	}
	return true
}
