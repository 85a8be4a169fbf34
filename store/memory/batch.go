package memory

import (
	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// batch is one call of the scripts that decide: admit, peek, force, promote and restore.
type batch struct {
	plan      *store.Plan
	tx        *Tx
	keys      lua.Keys
	dedupe    int64 // microseconds
	decidedBy store.DecidedBy
	admitted  *idTimes
	states    []ratelimit.State // of the plan's levels
	fairness  *fairness         // nil = nothing is reserved
	messages  *messageBatch     // nil = the requests have no policy
	answer    store.Answer
}

func (s *Store) newBatch(tx *Tx, mode store.Mode, channel store.Channel, requests []store.Request) *batch {
	b := &batch{
		plan: store.NewPlan(mode, requests), tx: tx, keys: channel.Keys(), dedupe: s.dedupe(), decidedBy: s.opts.DecidedBy,
	}
	b.answer.Decisions = make([]store.Decision, len(requests))
	b.answer.Numbers = make([]int64, len(requests))
	b.admitted = lookOrCreate[idTimes](tx, b.keys.Seen())
	b.loadStates()
	if b.plan.Fairness != nil {
		b.fairness = newFairness(b)
	}
	if b.plan.Policy != nil && mode != modeOpen {
		b.messages = newMessageBatch(b)
	}
	return b
}

// loadStates reads the states of all levels, and moves what lies ahead of now, where the clock went back.
func (b *batch) loadStates() {
	b.states = make([]ratelimit.State, len(b.plan.Levels))
	for i := range b.plan.Levels {
		level := &b.plan.Levels[i]
		b.states[i] = stateOf(b.tx, level)
		ahead := b.states[i].Load(b.tx.now, level)
		b.answer.Stepped = max(b.answer.Stepped, store.Microseconds(ahead))
		if ahead > 0 && !b.isPeek() {
			b.tx.replace(level.Key, b.states[i].Value())
		}
	}
}

// stateOf returns a copy of the state of a level. It is put back when something was spent: a refusal changes nothing.
func stateOf(tx *Tx, level *ratelimit.Level) ratelimit.State { return level.State(tx.get(level.Key)) }

// run decides the requests in order. Each sees the ones before it.
func (b *batch) run(requests []store.Request) store.Answer {
	for i := range requests {
		path := b.plan.Paths[b.plan.PathOf[i]-1]
		d := &b.answer.Decisions[i]
		d.DecidedBy = b.decidedBy
		if b.messages != nil && b.plan.Mode != store.ModeRestore {
			b.messages.admit(d, &requests[i], path)
		} else {
			b.answer.Numbers[i] = b.admit(d, &requests[i], path)
		}
	}
	if b.messages != nil {
		b.messages.finish()
	}
	if b.fairness != nil && !b.isPeek() {
		b.fairness.store()
	}
	return b.answer
}

// admit decides and counts one request by the levels alone. It returns the number of its entry where it was admitted.
func (b *batch) admit(d *store.Decision, r *store.Request, path store.Path) (number int64) {
	if b.isDuplicate(r) {
		d.Outcome, d.Duplicate = store.Duplicate, true
	} else {
		number = b.decide(d, r, path)
	}
	if !b.isPeek() {
		b.count(r, d.Outcome)
	}
	return number
}

func (b *batch) isDuplicate(r *store.Request) bool { return b.admitted.has(r.ID, b.tx.now-b.dedupe) }

func (b *batch) rememberID(r *store.Request) { b.admitted.add(r.ID, b.tx.now, b.tx.now-b.dedupe) }

func (b *batch) decide(d *store.Decision, r *store.Request, path store.Path) (number int64) {
	refusal := b.ask(r, path)
	if b.plan.Mode == store.ModeRestore || b.plan.Mode == modeOpen { // whatever the limits say
		refusal.levels = 0
		refusal.shadow = 0
	}
	d.Outcome = refusal.outcome()
	switch {
	case d.Outcome == store.Dropped:
		d.RetryAfter = store.Microseconds(refusal.retryAt - b.tx.now)
	case d.Outcome == store.Admitted && !b.isPeek():
		number = b.commit(r, path, refusal.shadow)
		if b.plan.Mode == store.ModeRestore {
			b.writeDown(number, r)
		}
		b.rememberID(r)
	}
	b.report(d, r, path, refusal)
	return number
}

// report completes a decision with what the levels answered.
func (b *batch) report(d *store.Decision, r *store.Request, path store.Path, refusal refusal) {
	d.SetRefused(r, refusal.levels, refusal.shadow, refusal.window)
	d.Remaining = r.Remaining(func(level int) []int64 { return b.used(path.Levels[level] - 1) })
}

// used returns the units used of each window of a level, by its index in the plan.
func (b *batch) used(index int) []int64 {
	level := &b.plan.Levels[index]
	used := make([]int64, len(level.Windows))
	for w := range level.Windows {
		used[w] = b.states[index].Used(b.tx.now, level, w)
	}
	return used
}
