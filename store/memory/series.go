package memory

import (
	"context"
	"time"

	"slackrelay/store"
)

// Minutes implements [Limiter].
func (m *Store) Minutes(_ context.Context, scope store.Channel, back time.Duration) (now time.Time, all []store.MinuteCount, err error) {
	m.data.Do(func(tx *Tx) {
		now, all, err = store.ReadMinutes(tx.Time, back, func(hour time.Time) (map[string]int64, error) {
			return Look[Counts](tx, scope.Keys().Minutes(hour)).All(), nil
		})
	})
	return now, all, err
}

// Categories implements [Limiter].
func (m *Store) Categories(_ context.Context, scope store.Channel) ([]store.CategoryCounts, error) {
	sums := map[string]int64{}
	m.data.Do(func(tx *Tx) {
		for i := range store.SeriesHours {
			key := scope.Keys().Series(tx.Time.Add(-time.Duration(i) * time.Hour))
			for field, n := range Look[Counts](tx, key).All() {
				sums[field] += n
			}
		}
	})
	return store.ParseCategories(sums), nil
}

func (b *batch) count(r *store.Request, outcome store.Outcome) {
	ledger := Value[Counts](b.tx, b.scope.Keys().Ledger())
	ledger.Add("received", 1)
	outcome = outcome.CountedAs()
	ledger.Add(outcome.String(), 1)
	if outcome != store.Duplicate {
		countInSeries(b.tx, b.scope, r.Category, outcome, 1)
	}
	if end := b.endOf(r); end != "" && outcome == store.Admitted {
		ledger.Add(end, 1)
	}
}

func countInSeries(tx *Tx, scope store.Channel, category string, outcome store.Outcome, n int64) {
	countMinute(tx, scope, category, outcome, n)
	key := scope.Keys().Series(tx.Time)
	series := Value[Counts](tx, key)
	if !series.Has(category + ":admitted") {
		if series.Len() >= 2*store.MaxCategories {
			category = "other"
		}
		series.Add(category+":admitted", 0)
		series.Add(category+":dropped", 0)
		tx.Expire(key, store.SeriesTTL)
	}
	series.Add(category+":"+outcome.String(), n)
}

// countMinute is the twin of what lua/admit.lua does.
func countMinute(tx *Tx, scope store.Channel, category string, outcome store.Outcome, n int64) {
	key := scope.Keys().Minutes(tx.Time)
	minutes := Value[Counts](tx, key)
	field := store.MinuteField(tx.Time, outcome.String(), category)
	if !minutes.Has(field) {
		if minutes.Len() >= store.MaxMinuteFields {
			field = store.MinuteField(tx.Time, outcome.String(), "other")
		}
		if minutes.Len() == 0 {
			tx.Expire(key, store.SeriesTTL)
		}
	}
	minutes.Add(field, n)
}
