package store

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the series, as in lua/admit.lua.
const (
	// SeriesHours is how many hourly series make up the last day: that of the current hour, and 24 before it.
	SeriesHours = 25
	// MaxCategories is how many categories a series has before it counts the rest as [OtherCategory].
	MaxCategories = 1000
	// MaxLookback is how far [Store.Minutes] reads back.
	MaxLookback = 24 * time.Hour
)

// ParseCategories reads the fields "<category>:admitted" and "<category>:dropped" of a series, ordered by category.
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

// CategoryCounts are the events of one category in the last 24 hours.
type CategoryCounts struct {
	Category string
	Admitted int64
	Dropped  int64
}

// MinuteCount is the events of one category in one minute.
type MinuteCount struct {
	At       time.Time // when the minute began
	Category string    // [OtherCategory] for those beyond the bound
	Admitted int64
	Dropped  int64
}

// ReadMinutes returns now in UTC, and the counts of the minutes since back ago, at most [MaxLookback]. It reads the fields of
// one hour at a time, so that no call takes long.
func ReadMinutes(
	now time.Time, back time.Duration, read func(hour time.Time) (map[string]int64, error),
) (time.Time, []MinuteCount, error) {
	now = now.UTC()
	since := now.Add(-min(back, MaxLookback)).Truncate(time.Minute)
	var all []MinuteCount
	end := now.Add(time.Hour) // clocks differ a little
	for hour := since.Truncate(time.Hour); !hour.After(end); hour = hour.Add(time.Hour) {
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

// joinMinutes adds up the counts of the same minute and category; all is sorted.
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
