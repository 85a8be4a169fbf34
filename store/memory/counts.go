package memory

import "slackrelay/store"

const otherCategory = store.OtherCategory

// countInSeries counts events of a category in the current hour and minute. Both are bounded: what is new when one is
// full is counted under "other".
func (tx channelTx) countInSeries(category string, outcome store.Outcome, n int64) {
	tx.countInMinute(category, outcome, n)
	tx.countInHour(category, outcome, n)
}

// countInHour gives a category that is new both of its fields.
func (tx channelTx) countInHour(category string, outcome store.Outcome, n int64) {
	key := tx.keys.Series(tx.time)
	series := tx.numbers(key)
	if _, known := series[category+":admitted"]; !known {
		if len(series) >= 2*store.MaxCategories {
			category = otherCategory
		}
		series[category+":admitted"] += 0
		series[category+":dropped"] += 0
		tx.expire(key, store.SeriesTTL)
	}
	series[category+":"+outcome.String()] += n
}

func (tx channelTx) countInMinute(category string, outcome store.Outcome, n int64) {
	key := tx.keys.Minutes(tx.time)
	minutes := tx.numbers(key)
	if len(minutes) == 0 {
		tx.expire(key, store.SeriesTTL)
	}
	field := store.MinuteField(tx.time, outcome.String(), category)
	if _, known := minutes[field]; !known && len(minutes) >= store.MaxMinuteFields {
		field = store.MinuteField(tx.time, outcome.String(), otherCategory)
	}
	minutes[field] += n
}
