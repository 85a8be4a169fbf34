package memory

import (
	"cmp"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// idsPage is after how many admissions the ids that are no longer remembered are removed, as in the scripts.
const idsPage = 32

// batch is one call of the scripts that decide: admit, peek, force, promote and restore.
type batch struct {
	plan      *store.Plan
	tx        channelTx
	dedupe    int64 // microseconds
	decidedBy store.DecidedBy
	admitted  *idTimes
	states    []ratelimit.State // of the plan's levels; nil = not read yet, see state
	fairness  *fairness         // nil = nothing is reserved
	messages  *messageBatch     // nil = the requests have no policy
	answer    store.Answer
	againAt   int64 // when to promote next

	numberBefore int64 // the last number that an entry had before
}

func (s *Store) newBatch(tx channelTx, mode store.Mode, requests []store.Request) *batch {
	b := &batch{
		plan: store.NewPlan(mode, requests), tx: tx, dedupe: s.dedupe(), decidedBy: s.opts.DecidedBy,
		admitted: tx.admitted(), againAt: tx.now + maxPromotionWait,
	}
	b.answer.Decisions = make([]store.Decision, len(requests))
	b.answer.Numbers = make([]int64, len(requests))
	b.states = make([]ratelimit.State, len(b.plan.Levels))
	b.numberBefore = tx.outbox().seq
	if b.plan.Fairness != nil {
		b.fairness = newFairness(b)
	}
	if b.plan.Policy != nil && mode != modeOpen {
		b.messages = newMessageBatch(b)
	}
	return b
}

// state returns the state of a level, by its index in the plan. It is read when it is first asked for; what lies ahead of now
// is moved then, where the clock went back.
func (b *batch) state(index int) ratelimit.State {
	if b.states[index] != nil {
		return b.states[index]
	}
	level := &b.plan.Levels[index]
	state := b.tx.state(level)
	b.states[index] = state
	ahead := state.Load(b.tx.now, level)
	b.answer.Stepped = max(b.answer.Stepped, store.Microseconds(ahead))
	if ahead > 0 && !b.isPeek() {
		b.tx.replace(level.Key, state.Value())
		b.tx.expire(level.Key, max(b.keeps(level), state.Lasts(b.tx.now))+time.Minute)
	}
	return state
}

// keeps is for how long a level keeps units: its longest window, and at least the window that fairness looks at.
func (b *batch) keeps(level *ratelimit.Level) time.Duration {
	longest := ratelimit.Longest(level.Windows)
	if b.plan.Fairness == nil {
		return longest
	}
	return max(longest, b.plan.Levels[0].Windows[0].Per)
}

// state returns a copy of the state of a level. It is put back when something was spent: a refusal changes nothing.
func (tx *Tx) state(level *ratelimit.Level) ratelimit.State { return level.State(tx.get(level.Key)) }

// run decides the requests in order. Each sees the ones before it.
func (b *batch) run(requests []store.Request) store.Answer {
	for i := range requests {
		path := b.plan.Paths[b.plan.PathOf[i]-1]
		b.answer.Numbers[i] = b.admit(&b.answer.Decisions[i], &requests[i], path)
	}
	if b.messages != nil {
		b.messages.finish()
	}
	if b.fairness != nil && !b.isPeek() {
		b.fairness.store()
	}
	if b.isPromotion() {
		b.storeNextPromotion()
	}
	if b.tx.outbox().seq/idsPage > b.numberBefore/idsPage {
		b.admitted.prune(b.tx.now - b.dedupe)
	}
	return b.answer
}

// admit decides and counts one request. It returns the number of its entry; 0 = it has none.
func (b *batch) admit(d *store.Decision, r *store.Request, path store.Path) (number int64) {
	d.DecidedBy = b.decidedBy
	var decided decision
	if b.isDuplicate(r) {
		d.Outcome, d.Duplicate = store.Duplicate, true
	} else {
		decided = b.decide(r, path)
		b.report(d, r, path, decided)
	}
	if b.isPromotion() {
		b.noteNextPromotion(r, decided)
	}
	if !b.isPeek() {
		b.count(r, d.Outcome)
	}
	return decided.number
}

// isDuplicate reports whether a request was admitted before, or waits for a slot no more.
func (b *batch) isDuplicate(r *store.Request) bool {
	if b.isPromotion() {
		return b.messages.waitingAt(r) < 0
	}
	return b.admitted.has(r.ID, b.tx.now-b.dedupe)
}

// decision is what was decided of a request that is no duplicate.
type decision struct {
	outcome  store.Outcome
	refusal  refusal
	number   int64 // of its entry; 0 = none
	thread   int64 // the number of the message that it replies to; 0 = none
	attached bool  // an earlier message decided it: no level was asked
}

func (b *batch) decide(r *store.Request, path store.Path) decision {
	var d decision
	if b.messages != nil && b.plan.Mode != store.ModeRestore {
		d = b.messages.decide(r, path)
	} else {
		d = b.askLevels(r, path)
	}
	switch {
	case b.isPeek() || b.isPromotion() && d.outcome == store.Delayed:
	case !d.outcome.Drops():
		b.admitted.add(r.ID, b.tx.now)
	case b.messages != nil:
		b.messages.noteDrop(r, d)
	}
	return d
}

// askLevels decides a request by its levels alone. Where they admit it, its units are spent.
func (b *batch) askLevels(r *store.Request, path store.Path) decision {
	refusal := b.ask(r, path)
	d := decision{outcome: refusal.outcome(), refusal: refusal}
	if d.outcome == store.Admitted && !b.isPeek() {
		d.number = b.commit(r, path, refusal.shadow)
	}
	return d
}

// report completes a decision with what was decided, and with what the levels answered.
func (b *batch) report(d *store.Decision, r *store.Request, path store.Path, decided decision) {
	d.Outcome = decided.outcome
	if d.Outcome == store.Dropped {
		d.RetryAfter = store.Microseconds(decided.refusal.retryAt - b.tx.now)
	}
	d.SetRefused(cmp.Or(decided.refusal.by, r), decided.refusal.levels, decided.refusal.shadow, decided.refusal.window)
	d.Remaining = r.Remaining(func(level int) []int64 { return b.used(path.Levels[level] - 1) })
}

// used returns the units used of each window of a level, by its index in the plan; none where the level was not asked.
func (b *batch) used(index int) []int64 {
	if b.states[index] == nil {
		return nil
	}
	level := &b.plan.Levels[index]
	used := make([]int64, len(level.Windows))
	for w := range level.Windows {
		used[w] = b.states[index].Used(b.tx.now, level, w)
	}
	return used
}
