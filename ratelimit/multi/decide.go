package multi

import (
	"fmt"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// batch decides the calls of one Admit, in order.
type batch struct {
	opts       Options
	outcomes   map[string]store.Outcome // of the ids so far
	refused    map[string]int64         // units that this Admit takes back, by key
	conclusion conclusion
}

func newBatch(opts Options) *batch {
	return &batch{
		opts: opts, outcomes: map[string]store.Outcome{}, refused: map[string]int64{},
		conclusion: conclusion{undo: map[string]correction{}},
	}
}

func (b *batch) decide(c call, r reading) (store.Decision, error) {
	before, repeated := b.outcomes[c.id]
	switch {
	case repeated && before == store.Admitted:
		r.id = idAdmitted
	case repeated:
		r.id = idNew // the claim is this batch's own
	case r.id == idPending:
		return store.Decision{}, fmt.Errorf("%w: id %s is being decided by another call", store.ErrUnavailable, c.id)
	}
	for i, w := range c.windows {
		r.windows[i].used -= b.refused[w.key]
	}
	d := decide(c, r)
	b.conclude(c, r, d.Outcome)
	return d, nil
}

// conclude adds what follows from an outcome to the conclusion.
func (b *batch) conclude(c call, r reading, outcome store.Outcome) {
	if outcome != store.Duplicate {
		b.outcomes[c.id] = outcome
	}
	if outcome == store.Admitted {
		b.conclusion.admitted = append(b.conclusion.admitted, c.id)
		return
	}
	if outcome != store.Duplicate {
		b.conclusion.released = append(b.conclusion.released, c.id)
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
func decide(c call, r reading) store.Decision {
	if r.id == idAdmitted {
		return store.Decision{Outcome: store.Duplicate, DecidedBy: store.ByRedis}
	}
	d := store.Decision{Outcome: store.Admitted, DecidedBy: store.ByRedis}
	never := false
	for i, w := range c.windows {
		never = never || c.units > w.Limit
		if r.windows[i].used > w.Limit {
			refuse(&d, w, r.windows[i])
		}
	}
	if never {
		d.Outcome, d.RetryAfter = store.Never, -1
	}
	for i, w := range c.windows {
		used := r.windows[i].used
		if d.Outcome != store.Admitted {
			used -= c.units // they are taken back
		}
		d.Remaining = append(d.Remaining, store.Remaining{
			Level: w.level, Window: w.Window, Used: used, Free: max(0, w.Limit-used),
		})
	}
	return d
}

// refuse adds a full window to a decision.
func refuse(d *store.Decision, w window, t total) {
	if len(d.Refused) == 0 || d.Refused[len(d.Refused)-1] != w.level {
		d.Refused = append(d.Refused, w.level)
	}
	if d.Outcome == store.Admitted {
		d.Outcome, d.Level = store.Dropped, w.level
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
