package memory

import (
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// refusal is the answer of the levels of a request.
type refusal struct {
	by      *store.Request // whose levels these are: of a bundle, that of its first event; nil = no level was asked
	levels  int64          // bit i is set when the request's i-th level refuses
	shadow  int64          // the same of shadow levels, which only report
	retryAt int64          // when no level would refuse; now where none does
	never   bool           // a level refuses that can never hold the units
	window  int            // of the first level that refuses: the window that is full for longest
}

func (r refusal) outcome() store.Outcome {
	switch {
	case r.levels == 0:
		return store.Admitted
	case r.never:
		return store.Never
	default:
		return store.Dropped
	}
}

// ask asks all levels of a request.
func (b *batch) ask(r *store.Request, path store.Path) refusal {
	answer := refusal{by: r, retryAt: b.tx.now}
	if b.isForced() {
		return answer
	}
	reserved := reservedSlots{ordinary: r.Headroom, firstNotice: r.Headroom, firstNoticeAt: b.tx.now}
	if b.fairness != nil {
		reserved = b.fairness.reserved(path)
	}
	for i, place := range path.Levels {
		index := place - 1
		fit := b.askLevel(index, r, reserved)
		switch {
		case fit.at <= b.tx.now && !fit.never:
		case b.plan.Levels[index].Shadow:
			answer.shadow |= 1 << i
		default:
			if answer.levels == 0 {
				answer.window = fit.window
			}
			answer.levels |= 1 << i
			answer.never = answer.never || fit.never
			answer.retryAt = max(answer.retryAt, fit.at)
		}
	}
	if b.plan.Mode == store.ModeRestore || b.plan.Mode == modeOpen { // whatever the limits say
		answer.levels = 0
		answer.shadow = 0
	}
	return answer
}

// levelFit is the answer of one level.
type levelFit struct {
	at     int64 // when the units fit; 0 = now
	never  bool  // they never do
	window int   // that is full for longest, or that can never hold them
}

// askLevel asks one level, by its index in the plan. The first is the channel's, in which slots are reserved.
func (b *batch) askLevel(index int, r *store.Request, reserved reservedSlots) levelFit {
	units := r.Units()
	if index > 0 {
		return b.fit(index, units, 0)
	}
	fit := b.fit(index, units, reserved.ordinary)
	if reserved.ordinary > reserved.firstNotice && fit.at > b.tx.now {
		atLeast := b.fit(index, units, reserved.firstNotice).at
		fit.at = min(fit.at, max(atLeast, reserved.firstNoticeAt)) // sooner, where the category becomes a first notice before
	}
	if reserved.ordinary > 0 && units+r.Headroom > b.plan.Levels[index].Windows[0].Limit {
		fit.never = true
	}
	return fit
}

// fit returns when units fit into a level. Reserved units of its first window must stay free.
func (b *batch) fit(index int, units, reserved int64) levelFit {
	var fit levelFit
	level, state := &b.plan.Levels[index], b.state(index)
	for w, window := range level.Windows {
		if w > 0 {
			reserved = 0
		}
		used := state.Used(b.tx.now, level, w)
		capacity := level.Capacity(window)
		switch {
		case units > capacity:
			fit.never = true
			fit.window = w
		case used+units+reserved > capacity:
			fit.wait(b.fitsAt(index, w, units, reserved), w)
			if units == 1 && used >= capacity && !level.Shadow {
				b.close(level, w, b.fitsAt(index, w, 1, 0))
			}
		}
	}
	return fit
}

// wait notes that a window is full until a time.
func (f *levelFit) wait(until int64, window int) {
	if until <= f.at {
		return
	}
	f.at = until
	if !f.never {
		f.window = window
	}
}

// fitsAt returns when units fit into a full window. A log that lies too far ahead of now is moved first: the clock went
// back.
func (b *batch) fitsAt(index, w int, units, reserved int64) int64 {
	level, state := &b.plan.Levels[index], b.state(index)
	log, isLog := state.(*ratelimit.LogState)
	if !isLog {
		return state.FitsAt(b.tx.now, level, w, units, reserved)
	}
	if ahead := log.Newest(level.Windows[w].Limit-units-reserved) - b.tx.now; ahead > ratelimit.MaxStep {
		b.answer.Stepped = max(b.answer.Stepped, store.Microseconds(log.Newest(0)-b.tx.now))
		if b.isPeek() {
			return b.tx.now + level.Windows[w].Per.Microseconds()
		}
		log.ClampToNow(b.tx.now)
	}
	return state.FitsAt(b.tx.now, level, w, units, reserved)
}

// close notes that one unit cannot fit a level until a time.
func (b *batch) close(level *ratelimit.Level, window int, until int64) {
	closed := store.ClosedLevel{Level: level, For: store.Microseconds(until - b.tx.now), Window: window}
	for i := range b.answer.Closed {
		known := &b.answer.Closed[i]
		if known.Level != level {
			continue
		}
		if closed.For > known.For {
			*known = closed
		}
		return
	}
	if closed.For > 0 {
		b.answer.Closed = append(b.answer.Closed, closed)
	}
}
