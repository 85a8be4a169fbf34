package memory

import (
	"slackrelay/lua"
	"slackrelay/store"
)

const otherCategory = store.OtherCategory

// countInSeries counts events of a category in the current hour and minute. Both are bounded: what is new when one is
// full is counted under "other".
func countInSeries(tx *Tx, keys lua.Keys, category string, outcome store.Outcome, n int64) {
	countInMinute(tx, keys, category, outcome, n)
	countInHour(tx, keys, category, outcome, n)
}

// countInHour gives a category that is new both of its fields.
func countInHour(tx *Tx, keys lua.Keys, category string, outcome store.Outcome, n int64) {
	key := keys.Series(tx.time)
	series := lookOrCreate[counts](tx, key)
	if !series.has(category + ":admitted") {
		if series.size() >= 2*store.MaxCategories {
			category = otherCategory
		}
		series.add(category+":admitted", 0)
		series.add(category+":dropped", 0)
		tx.expire(key, store.SeriesTTL)
	}
	series.add(category+":"+outcome.String(), n)
}

func countInMinute(tx *Tx, keys lua.Keys, category string, outcome store.Outcome, n int64) {
	key := keys.Minutes(tx.time)
	minutes := lookOrCreate[counts](tx, key)
	field := store.MinuteField(tx.time, outcome.String(), category)
	if !minutes.has(field) {
		if minutes.size() >= store.MaxMinuteFields {
			field = store.MinuteField(tx.time, outcome.String(), otherCategory)
		}
		if minutes.size() == 0 {
			tx.expire(key, store.SeriesTTL)
		}
	}
	minutes.add(field, n)
}
