package memory

import "slackrelay/store"

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
