package multi

import (
	"fmt"

	"slackrelay/ratelimit"
)

// batch decides the calls of one Admit, in order.
type batch struct {
	opts       Options
	admitted   map[string]bool  // the ids so far: true where the request was admitted
	refused    map[string]int64 // units that this Admit takes back, by key
	conclusion conclusion
}

func newBatch(opts Options) *batch {
	return &batch{
		opts: opts, admitted: map[string]bool{}, refused: map[string]int64{},
		conclusion: conclusion{undo: map[string]correction{}},
	}
}

func (b *batch) decide(c call, r reading) (ratelimit.Decision, error) {
	admitted, repeated := b.admitted[c.id]
	switch {
	case admitted:
		r.id = idAdmitted
	case repeated:
		r.id = idNew // the claim is this batch's own
	case r.id == idPending:
		return ratelimit.Decision{}, fmt.Errorf("%w: id %s is being decided by another call", ratelimit.ErrUnavailable, c.id)
	}
	for i, w := range c.windows {
		r.windows[i].used -= b.refused[w.key]
	}
	d := decide(c, r)
	b.conclude(c, r, &d)
	return d, nil
}

// conclude adds what follows from a decision to the conclusion.
func (b *batch) conclude(c call, r reading, d *ratelimit.Decision) {
	if !d.Duplicate {
		b.admitted[c.id] = len(d.Refused) == 0
		if b.admitted[c.id] {
			b.conclusion.admitted = append(b.conclusion.admitted, c.claim)
			return
		}
		b.conclusion.released = append(b.conclusion.released, c.claim)
	}
	for i, w := range c.windows {
		b.refused[w.key] += c.units
		if r.windows[i].ends <= b.opts.UndoMargin {
			b.opts.Overshot(w.level, c.units)
			continue
		}
		b.conclusion.undo[w.key] = correction{units: b.conclusion.undo[w.key].units + c.units, lives: w.lives}
	}
}

// decide decides one call by what its units made of the counters.
func decide(c call, r reading) ratelimit.Decision {
	if r.id == idAdmitted {
		return ratelimit.Decision{Duplicate: true}
	}
	var d ratelimit.Decision
	never := false
	for i, w := range c.windows {
		never = never || c.units > w.Limit
		if r.windows[i].used > w.Limit {
			refuse(&d, w, r.windows[i])
		}
	}
	if never {
		d.RetryAfter = -1
	}
	for i, w := range c.windows {
		used := r.windows[i].used
		if len(d.Refused) > 0 {
			used -= c.units // they are taken back
		}
		d.Remaining = append(d.Remaining, ratelimit.Remaining{
			Level: w.level, Window: w.Window, Used: used, Free: max(0, w.Limit-used),
		})
	}
	return d
}

// refuse adds a full window to a decision.
func refuse(d *ratelimit.Decision, w window, t total) {
	if len(d.Refused) == 0 {
		d.Level = w.level
	}
	if len(d.Refused) == 0 || d.Refused[len(d.Refused)-1] != w.level {
		d.Refused = append(d.Refused, w.level)
	}
	wait := t.ends
	if w.second > 0 {
		wait = w.second
	}
	if d.Level == w.level && (d.Window == ratelimit.Window{} || wait > d.RetryAfter) {
		d.Window = w.Window
	}
	d.RetryAfter = max(d.RetryAfter, wait)
}
