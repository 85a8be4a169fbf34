package memory

import (
	"strconv"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

const (
	otherCategory = store.OtherCategory
	// seriesTTL is how long the series of an hour is kept.
	seriesTTL = 25 * time.Hour
	// maxMinuteFields is how many fields, of a minute and a category each, an hour has before it counts the rest under "other".
	maxMinuteFields = 6000
)

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
		tx.expire(key, seriesTTL)
	}
	series.add(category+":"+outcome.String(), n)
}

func countInMinute(tx *Tx, keys lua.Keys, category string, outcome store.Outcome, n int64) {
	key := keys.Minutes(tx.time)
	minutes := lookOrCreate[counts](tx, key)
	field := minuteField(tx.time, outcome.String(), category)
	if !minutes.has(field) {
		if minutes.size() >= maxMinuteFields {
			field = minuteField(tx.time, outcome.String(), otherCategory)
		}
		if minutes.size() == 0 {
			tx.expire(key, seriesTTL)
		}
	}
	minutes.add(field, n)
}

// minuteField returns the field that counts an outcome, "admitted" or "dropped", of a category in the minute of now.
func minuteField(now time.Time, outcome, category string) string {
	return strconv.FormatInt(now.Unix()/60, 10) + ":" + outcome[:1] + ":" + category
}
