package memory

import (
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// commit spends the units of an admitted request, enqueues its message, and returns the number of its entry. Shadow
// levels that would have refused spend nothing.
func (b *batch) commit(r *store.Request, path store.Path, shadow int64) (number int64) {
	outbox := b.tx.outbox()
	outbox.seq++
	if b.isForced() {
		b.tx.ledger()["forced"]++
	} else if b.spendsUnits(r) {
		for i, place := range path.Levels {
			if shadow&(1<<i) == 0 {
				b.charge(place-1, r, outbox.seq)
			}
		}
	}
	if r.Enqueue != nil && b.plan.Mode != store.ModeRestore {
		outbox.messages = append(outbox.messages, entry{
			number: outbox.seq, at: b.tx.now, kind: string(r.Enqueue.Kind), payload: r.Enqueue.Payload,
		})
		b.tx.lookNow(store.WorkSend)
	}
	if b.fairness != nil && !b.isForced() {
		b.fairness.noteAdmission(path.Category)
	}
	number = outbox.seq
	if b.plan.Mode == store.ModeRestore {
		b.writeDown(number, r)
	}
	return number
}

// charge spends the units of a request at one level. What was sent already is in no backlog.
func (b *batch) charge(index int, r *store.Request, number int64) {
	level, state := &b.plan.Levels[index], b.state(index)
	isBacklog := level.Strategy.EffectiveKind() == ratelimit.Backlog
	if isBacklog && b.resultOf(r) != "" {
		return
	}
	charge := ratelimit.Charge{
		ID: r.ID, Units: r.Units(), Number: number,
		Keep: b.keeps(level), Limit: ratelimit.LargestLimit(level.Windows),
	}
	if b.plan.Fairness != nil {
		charge.Limit = max(charge.Limit, b.plan.Levels[0].Windows[0].Limit)
	}
	state.Add(b.tx.now, level, charge)
	lasts := max(charge.Keep, state.Lasts(b.tx.now)) + time.Minute
	switch state.(type) {
	case *ratelimit.LogState:
		b.tx.keep(level.Key, state.Value(), lasts)
	default:
		b.tx.put(level.Key, state.Value())
		if !isBacklog {
			b.tx.expire(level.Key, lasts)
		}
	}
}

// count counts the outcome of a request. One that waited for a slot was received before.
func (b *batch) count(r *store.Request, outcome store.Outcome) {
	ledger := b.tx.ledger()
	if b.isPromotion() {
		if outcome == store.Delayed || outcome == store.Duplicate {
			return
		}
		ledger["delayed"]--
		b.messages.leaveDelayed(r)
	} else {
		ledger["received"]++
	}
	outcome = outcome.CountedAs()
	ledger[outcome.String()]++
	if outcome == store.Admitted || outcome == store.Dropped {
		b.tx.countInSeries(r.Category, outcome, 1)
	}
	if result := b.resultOf(r); result != "" && outcome == store.Admitted {
		ledger[result]++
	}
}
