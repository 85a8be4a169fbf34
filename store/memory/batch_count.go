package memory

import "slackrelay/store"

// count counts the outcome of a request that was decided by the levels alone.
func (b *batch) count(r *store.Request, outcome store.Outcome) {
	ledger := lookOrCreate[counts](b.tx, b.keys.Ledger())
	ledger.add("received", 1)
	outcome = outcome.CountedAs()
	ledger.add(outcome.String(), 1)
	if outcome != store.Duplicate {
		countInSeries(b.tx, b.keys, r.Category, outcome, 1)
	}
	if result := b.resultOf(r); result != "" && outcome == store.Admitted {
		ledger.add(result, 1)
	}
}

// count counts the outcome of a request with a policy. One that waited for a slot was received before.
func (m *messageBatch) count(r *store.Request, outcome store.Outcome) {
	ledger := lookOrCreate[counts](m.batch.tx, m.batch.keys.Ledger())
	if m.batch.isPromotion() {
		if outcome == store.Delayed || outcome == store.Duplicate {
			return
		}
		ledger.add("delayed", -1)
		m.leaveDelayed(r)
	} else {
		ledger.add("received", 1)
	}
	outcome = outcome.CountedAs()
	ledger.add(outcome.String(), 1)
	if outcome == store.Admitted || outcome == store.Dropped {
		countInSeries(m.batch.tx, m.batch.keys, r.Category, outcome, 1)
	}
}
