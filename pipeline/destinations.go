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

// PromoteOthers makes the Courier decide the delayed events of the other channels in a channel's limit group now, because units of
// the group were given back. The store itself knows that the channel has something to do. It never blocks.
func (c *Courier) PromoteOthers(channel string) {
	of := c.channel(channel)
	if of == nil || c.opts.Promote == nil {
		return
	}
	for _, other := range c.delaying[of.group()] {
		if other != channel {
			c.promotions.wake(other)
		}
	}
	listed, _ := c.opts.Instances.list()
	for i := range listed {
		if other := &listed[i]; other.Name != channel && other.delays() && other.group() == of.group() {
			c.promotions.wake(other.Name)
		}
	}
}
