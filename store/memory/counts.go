package memory

import (
	"strconv"
	"time"

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
		tx.expire(key, seriesTTL)
	}
	series[category+":"+outcome.String()] += n
}

func (tx channelTx) countInMinute(category string, outcome store.Outcome, n int64) {
	key := tx.keys.Minutes(tx.time)
	minutes := tx.numbers(key)
	if len(minutes) == 0 {
		tx.expire(key, seriesTTL)
	}
	field := minuteField(tx.time, outcome.String(), category)
	if _, known := minutes[field]; !known && len(minutes) >= maxMinuteFields {
		field = minuteField(tx.time, outcome.String(), otherCategory)
	}
	minutes[field] += n
}

// minuteField returns the field that counts an outcome, "admitted" or "dropped", of a category in the minute of now.
func minuteField(now time.Time, outcome, category string) string {
	return strconv.FormatInt(now.Unix()/60, 10) + ":" + outcome[:1] + ":" + category
}
