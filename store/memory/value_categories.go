package memory

import (
	"cmp"
	"slices"
)

// categoryTimes are categories with a time each, in microseconds: their last attempt or their last admission.
type categoryTimes struct{ at map[string]int64 }

func (c *categoryTimes) set(category string, at int64) {
	if c.at == nil {
		c.at = map[string]int64{}
	}
	c.at[category] = at
}

// when returns the time of a category; 0 = it is unknown. It works on nil.
func (c *categoryTimes) when(category string) int64 {
	if c == nil {
		return 0
	}
	return c.at[category]
}

// countAfter is how many categories have a time after this one.
func (c *categoryTimes) countAfter(after int64) (n int64) {
	for _, at := range c.at {
		if at > after {
			n++
		}
	}
	return n
}

// forget removes the categories with a time until this one.
func (c *categoryTimes) forget(until int64) {
	for category, at := range c.at {
		if at <= until {
			delete(c.at, category)
		}
	}
}

// oldestAbove lists the oldest categories above a bound. Those with the same time go by name.
func (c *categoryTimes) oldestAbove(bound int) []string {
	excess := len(c.at) - bound
	if excess <= 0 {
		return nil
	}
	categories := make([]string, 0, len(c.at))
	for category := range c.at {
		categories = append(categories, category)
	}
	slices.SortFunc(categories, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.at[a], c.at[b]), cmp.Compare(a, b))
	})
	return categories[:excess]
}
