package memory

import (
	"context"

	"slackrelay/store"
)

// folds remember the last fold of each replica.
type folds struct{ last map[string]int64 }

// newFold notes a fold, and tells whether it is new.
func newFold(tx *Tx, scope store.Channel, f store.MergeID) bool {
	known := Value[folds](tx, scope.Keys().Folds())
	if known.last[f.Replica] >= f.Sequence {
		return false
	}
	if known.last == nil {
		known.last = map[string]int64{}
	}
	known.last[f.Replica] = f.Sequence
	tx.Expire(scope.Keys().Folds(), store.SeriesTTL)
	return true
}

// fold implements [engine].
func (m *Store) MergeCounts(_ context.Context, scope store.Channel, f store.MergeID, drops store.LocalCounts) error {
	m.data.Do(func(tx *Tx) {
		if !newFold(tx, scope, f) {
			return
		}
		ledger := Value[Counts](tx, scope.Keys().Ledger())
		for name, n := range drops.Totals {
			ledger.Add(name, n)
		}
		keepDrops(tx, scope, drops, tx.Time)
		for category, n := range drops.Categories {
			countInSeries(tx, scope, category, store.Dropped, n)
			if drops.LearnCategories {
				Value[categories](tx, scope.Keys().Known()).set(category, tx.Now)
			}
		}
	})
	return nil
}
