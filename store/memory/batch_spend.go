package memory

import (
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// commit spends the units of an admitted request, enqueues its message, and returns the number of its entry. Shadow
// levels that would have refused spend nothing.
func (b *batch) commit(r *store.Request, path store.Path, shadow int64) (number int64) {
	outbox := lookOrCreate[queue](b.tx, b.keys.Outbox())
	outbox.seq++
	if b.isForced() {
		lookOrCreate[counts](b.tx, b.keys.Ledger()).add("forced", 1)
	} else if b.spendsUnits(r) {
		b.spend(r, path, shadow, outbox.seq)
	}
	if r.Enqueue != nil && b.plan.Mode != store.ModeRestore {
		outbox.messages = append(outbox.messages, entry{
			number: outbox.seq, at: b.tx.now, kind: string(r.Enqueue.Kind), payload: r.Enqueue.Payload,
		})
	}
	if b.fairness != nil && !b.isForced() {
		b.fairness.noteAdmission(path.Category)
	}
	return outbox.seq
}

func (b *batch) spend(r *store.Request, path store.Path, shadow, number int64) {
	for i, place := range path.Levels {
		if shadow&(1<<i) == 0 {
			b.charge(place-1, r, number)
		}
	}
}

// charge spends the units of a request at one level. What was sent already is in no backlog.
func (b *batch) charge(index int, r *store.Request, number int64) {
	level, state := &b.plan.Levels[index], b.states[index]
	isBacklog := level.Strategy.EffectiveKind() == ratelimit.Backlog
	if isBacklog && b.resultOf(r) != "" {
		return
	}
	charge := ratelimit.Charge{
		ID: r.ID, Units: r.Units(), Number: number,
		Keep: ratelimit.Longest(level.Windows), Limit: ratelimit.LargestLimit(level.Windows),
	}
	if b.plan.Fairness != nil {
		channel := b.plan.Levels[0].Windows[0]
		charge.Keep = max(charge.Keep, channel.Per)
		charge.Limit = max(charge.Limit, channel.Limit)
	}
	state.Add(b.tx.now, level, charge)
	b.tx.put(level.Key, state.Value())
	if !isBacklog {
		b.tx.expire(level.Key, max(charge.Keep, state.Lasts(b.tx.now))+time.Minute)
	}
}
