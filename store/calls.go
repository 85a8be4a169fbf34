package store

import (
	"sync"
)

// calls numbers the claims of a sender in each channel, and remembers those that brought it no answer: what such a
// claim took was certainly never sent, and the next claim says so. See lua/claim.lua.
type ClaimCalls struct {
	mu       sync.Mutex
	channels map[string]ClaimCall // the last one, by the key of the lease
}

// call is one claim, and which before it brought no answer: those from lostFrom to lostTo, 0 = none. Only the last
// ones in a row are remembered. What an older one took counts as sent.
type ClaimCall struct{ Number, LostFrom, LostTo int64 }

// begin numbers a claim.
func (c *ClaimCalls) Begin(channel Channel) ClaimCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.channels == nil {
		c.channels = map[string]ClaimCall{}
	}
	key := channel.Keys().Lease()
	next := c.channels[key]
	next.Number++
	c.channels[key] = next
	return next
}

// lose notes that a claim brought no answer, and that its caller is told so.
func (c *ClaimCalls) Lose(channel Channel, number int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := channel.Keys().Lease()
	last := c.channels[key]
	if last.LostTo != number-1 || last.LostTo == 0 {
		last.LostFrom = number
	}
	last.LostTo = number
	c.channels[key] = last
}

// lost tells whether a claim before this one brought no answer.
func (c ClaimCall) Lost(number int64) bool { return c.LostFrom <= number && number <= c.LostTo }
