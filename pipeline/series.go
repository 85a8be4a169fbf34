package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"slackrelay/store"
)

// Series is the events of a channel over time. It is the reply of the API.
type Series struct {
	Channel string    `json:"channel"`
	From    time.Time `json:"from"` // the beginning of the first step
	Step    float64   `json:"step"` // seconds
	// Total and Categories have a value for each step, from the first to the current one.
	Total      Steps            `json:"total"`
	Categories []CategorySeries `json:"categories"` // the busiest first
}

// Steps are counts, a value for each step.
type Steps struct {
	Received []int64 `json:"received"` // admitted and dropped
	Sent     []int64 `json:"sent"`     // admitted
	Dropped  []int64 `json:"dropped"`
}

// CategorySeries are the counts of one category.
type CategorySeries struct {
	Category string `json:"category"`
	Steps
}

// MaxSteps is the maximum number of steps of a series.
const MaxSteps = 1440

// ErrSeries is returned for a series that is too long, or whose step is not in whole minutes.
var ErrSeries = fmt.Errorf("a series goes back 1 minute to %s, in steps of whole minutes, at most %d of them", store.MaxLookback, MaxSteps)

// Series reads the events of a channel from back ago until now, in steps of whole minutes.
func (s *StatusReader) Series(ctx context.Context, channel string, back, step time.Duration) (Series, error) {
	ch, err := channelOf(s.channels, s.instances, channel)
	if err != nil {
		return Series{}, err
	}
	if back < time.Minute || back > store.MaxLookback || step < time.Minute || step%time.Minute != 0 || back/step > MaxSteps {
		return Series{}, ErrSeries
	}
	now, minutes, err := s.limiter.Minutes(ctx, ch.Scope(), back)
	if err != nil {
		return Series{}, err
	}
	from := now.Add(-back).Truncate(step)
	n := int(now.Sub(from)/step) + 1
	series := Series{Channel: channel, From: from, Step: step.Seconds(), Total: newSteps(n), Categories: []CategorySeries{}}
	byName := map[string]Steps{}
	for _, minute := range minutes {
		at := int(minute.At.Sub(from) / step)
		if at < 0 || at >= n {
			continue // a clock that is a little off
		}
		steps, ok := byName[minute.Category]
		if !ok {
			steps = newSteps(n)
			byName[minute.Category] = steps
		}
		steps.add(at, minute)
		series.Total.add(at, minute)
	}
	for name, steps := range byName {
		series.Categories = append(series.Categories, CategorySeries{name, steps})
	}
	slices.SortFunc(series.Categories, func(a, b CategorySeries) int {
		return cmp.Or(cmp.Compare(sum(b.Received), sum(a.Received)), cmp.Compare(a.Category, b.Category))
	})
	return series, nil
}

func newSteps(n int) Steps {
	return Steps{Received: make([]int64, n), Sent: make([]int64, n), Dropped: make([]int64, n)}
}

func (s Steps) add(at int, minute store.MinuteCount) {
	s.Received[at] += minute.Admitted + minute.Dropped
	s.Sent[at] += minute.Admitted
	s.Dropped[at] += minute.Dropped
}

func sum(all []int64) (total int64) {
	for _, n := range all {
		total += n
	}
	return total
}
