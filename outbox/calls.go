package outbox

import "sync"

// calls numbers the claims of a sender in each channel, and remembers those that brought it no answer: what such a
// claim took was certainly never sent, and the next claim says so. See lua/claim.lua.
type calls struct {
	mu       sync.Mutex
	channels map[string]call // the last one, by the key of the lease
}

// call is one claim, and which before it brought no answer: those from lostFrom to lostTo, 0 = none. Only the last
// ones in a row are remembered. What an older one took counts as sent.
type call struct{ number, lostFrom, lostTo int64 }

// begin numbers a claim.
func (c *calls) begin(channel Channel) call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.channels == nil {
		c.channels = map[string]call{}
	}
	key := channel.keys().Lease()
	next := c.channels[key]
	next.number++
	c.channels[key] = next
	return next
}

// lose notes that a claim brought no answer, and that its caller is told so.
func (c *calls) lose(channel Channel, number int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := channel.keys().Lease()
	last := c.channels[key]
	if last.lostTo != number-1 || last.lostTo == 0 {
		last.lostFrom = number
	}
	last.lostTo = number
	c.channels[key] = last
}

// lost tells whether a claim before this one brought no answer.
func (c call) lost(number int64) bool { return c.lostFrom <= number && number <= c.lostTo }
