package server

import (
	"net/netip"
	"sync"
)

// crowd counts the webhooks that are in hand, by the address that they come from, so that one sender with many slow
// connections does not keep others out.
type crowd struct {
	limit int

	mu     sync.Mutex
	inHand map[netip.Addr]int
}

// enter takes a place; ok is false where the address has as many as it may.
func (c *crowd) enter(address netip.Addr) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inHand[address] >= c.limit {
		return nil, false
	}
	c.inHand[address]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.inHand[address]--; c.inHand[address] == 0 {
			delete(c.inHand, address)
		}
	}, true
}
