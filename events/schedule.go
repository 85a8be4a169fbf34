package events

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/alertmanager/timeinterval"
)

// Schedule is a set of times: any of its intervals.
type Schedule struct {
	Name      string
	Intervals []timeinterval.TimeInterval
}

// times are the intervals of the schedules that a rule names; nil = it names none.
type times []timeinterval.TimeInterval

func timesOf(names []string, schedules []Schedule) (times, error) {
	var all times
	for _, name := range names {
		i := slices.IndexFunc(schedules, func(s Schedule) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("schedule %q does not exist; define it under schedules", name)
		}
		all = append(all, schedules[i].Intervals...)
	}
	return all, nil
}

func (t times) contain(now time.Time) bool {
	return slices.ContainsFunc(t, func(i timeinterval.TimeInterval) bool { return i.ContainsTime(now) })
}
