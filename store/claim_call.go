package store

import (
	"sync"
)

// ClaimCalls numbers a sender's claims in each channel, and remembers those that returned an error. Such a claim may have
// taken effect in the store, but its sender certainly sent nothing; the next claim reports it, so that the entry is not
// looked up in Slack. The zero value is ready to use, and safe for concurrent use. See lua/claim.lua.
type ClaimCalls struct {
	mu       sync.Mutex
	channels map[string]ClaimCall // the last one, by the key of the lease
}

// ClaimCall is one claim, and the claims before it that returned an error. Only the last ones in a row are remembered; an
// entry that an older one claimed counts as sent.
type ClaimCall struct {
	Number   int64 // from 1
	LostFrom int64 // the first claim that returned an error; 0 = none
	LostTo   int64 // the last
}

// Begin returns the next claim of a channel.
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

// Lose remembers that a claim returned an error.
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

// Lost reports whether an earlier claim, by its number, returned an error.
func (c ClaimCall) Lost(number int64) bool { return c.LostFrom <= number && number <= c.LostTo }
