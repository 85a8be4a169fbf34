package pipeline

import (
	"slices"
	"sync"

	"slackrelay/store"
)

// madeDestinations are all destinations of a courier, with those of templates, as of one list of instances.
type madeDestinations struct {
	mu    sync.Mutex
	lists int64 // the number of the list
	all   []store.Channel
}

// destinations returns all destinations. The caller must not change the list.
func (c *Courier) destinations() []store.Channel {
	if c.opts.Instances == nil {
		return c.among
	}
	c.made.mu.Lock()
	defer c.made.mu.Unlock()
	listed, lists := c.opts.Instances.list()
	if c.made.all == nil || lists != c.made.lists {
		c.made.all, c.made.lists = slices.Clone(c.among), lists
		for i := range listed {
			c.made.all = append(c.made.all, listed[i].scopes()...)
		}
	}
	return c.made.all
}
