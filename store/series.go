package store

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// seriesHours is how many hourly series make up the last day: the current hour and 24 before it.
const SeriesHours = 25

// categoriesOf reads the fields "<category>:admitted" and "<category>:dropped" of a series.
func ParseCategories(fields map[string]int64) []CategoryCounts {
	byName := map[string]*CategoryCounts{}
	for field, n := range fields {
		i := strings.LastIndexByte(field, ':')
		if i < 0 {
			continue
		}
		name := field[:i]
		if byName[name] == nil {
			byName[name] = &CategoryCounts{Category: name}
		}
		switch field[i+1:] {
		case "admitted":
			byName[name].Admitted += n
		case "dropped":
			byName[name].Dropped += n
		}
	}
	all := make([]CategoryCounts, 0, len(byName))
	for _, c := range byName {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b CategoryCounts) int { return cmp.Compare(a.Category, b.Category) })
	return all
}

// CategoryCounts are the counts of one category over the last 24 hours.
type CategoryCounts struct {
	Category string
	Admitted int64
	Dropped  int64
}

// MinuteCount is how many events of a category were admitted and dropped within a minute.
type MinuteCount struct {
	At       time.Time // when the minute began
	Category string    // "other" where there were too many
	Admitted int64
	Dropped  int64
}

const (
	MaxCategories = 1000
	SeriesTTL     = 25 * time.Hour
)

// MaxBack is how far the counts of minutes reach back.
const MaxLookback = 24 * time.Hour

// maxMinutes is how many minutes and categories an hour tells apart, as in lua/admit.lua.
const MaxMinuteFields = 6000

// readMinutes collects the counts of the minutes since a time ago, hour by hour, so that no call takes long.
func ReadMinutes(now time.Time, back time.Duration, read func(hour time.Time) (map[string]int64, error)) (time.Time, []MinuteCount, error) {
	now = now.UTC()
	since := now.Add(-min(back, MaxLookback)).Truncate(time.Minute)
	var all []MinuteCount
	for hour := since.Truncate(time.Hour); !hour.After(now.Add(time.Hour)); hour = hour.Add(time.Hour) { // a clock may be a little off
		fields, err := read(hour)
		if err != nil {
			return now, nil, err
		}
		all = append(all, minutesOf(fields, since)...)
	}
	slices.SortFunc(all, func(a, b MinuteCount) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Category, b.Category))
	})
	return now, joinMinutes(all), nil
}

// minutesOf reads the fields "<minute>:a:<category>" and "<minute>:d:<category>" of an hour.
func minutesOf(fields map[string]int64, since time.Time) []MinuteCount {
	var all []MinuteCount
	for field, n := range fields {
		minute, rest, _ := strings.Cut(field, ":")
		outcome, category, _ := strings.Cut(rest, ":")
		number, err := strconv.ParseInt(minute, 10, 64)
		at := time.Unix(number*60, 0).UTC()
		if err != nil || at.Before(since) {
			continue
		}
		one := MinuteCount{At: at, Category: category}
		if outcome == "a" {
			one.Admitted = n
		} else {
			one.Dropped = n
		}
		all = append(all, one)
	}
	return all
}

// joinMinutes adds up what is of the same minute and category; all is sorted.
func joinMinutes(all []MinuteCount) []MinuteCount {
	joined := all[:0]
	for _, one := range all {
		if n := len(joined); n > 0 && joined[n-1].At.Equal(one.At) && joined[n-1].Category == one.Category {
			joined[n-1].Admitted += one.Admitted
			joined[n-1].Dropped += one.Dropped
			continue
		}
		joined = append(joined, one)
	}
	return joined
}

// minuteField is where a minute is counted.
func MinuteField(now time.Time, outcome, category string) string {
	return strconv.FormatInt(now.Unix()/60, 10) + ":" + outcome[:1] + ":" + category
}
