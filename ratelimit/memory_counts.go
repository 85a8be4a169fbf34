package ratelimit

import (
	"time"

	"slackrelay/lua/memstore"
)

const (
	maxCategories = 1000
	seriesFor     = 25 * time.Hour
)

func (b *batch) count(r *Request, outcome Outcome) {
	ledger := memstore.Value[memstore.Counts](b.tx, b.scope.keys().Ledger())
	ledger.Add("received", 1)
	if outcome == Never {
		outcome = Dropped
	}
	ledger.Add(outcome.String(), 1)
	if outcome != Duplicate {
		countInSeries(b.tx, b.scope, r.Category, outcome, 1)
	}
	if end := b.endOf(r); end != "" && outcome == Admitted {
		ledger.Add(end, 1)
	}
}

func countInSeries(tx *memstore.Tx, scope Scope, category string, outcome Outcome, n int64) {
	countMinute(tx, scope, category, outcome, n)
	key := scope.keys().Series(tx.Time)
	series := memstore.Value[memstore.Counts](tx, key)
	if !series.Has(category + ":admitted") {
		if series.Len() >= 2*maxCategories {
			category = "other"
		}
		series.Add(category+":admitted", 0)
		series.Add(category+":dropped", 0)
		tx.Expire(key, seriesFor)
	}
	series.Add(category+":"+outcome.String(), n)
}
