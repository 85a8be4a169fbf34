package pipeline

import "time"

// Condition is what a channel is doing, in one word. The first that applies is used, in this order.
type Condition string

// The conditions.
const (
	Broken   Condition = "broken"   // Slack refuses its destination or its token
	Paused   Condition = "paused"   // it accepts events and sends nothing
	Fallback Condition = "fallback" // it is decided without Redis
	Dropping Condition = "dropping" // events were dropped within the last minute, as far as this process has seen
	Full     Condition = "full"     // no event fits its channel level now
	Sending  Condition = "sending"  // messages wait to be sent
	Idle     Condition = "idle"
)

// Conditions are all conditions, in the order in which they apply.
var Conditions = []Condition{Broken, Paused, Fallback, Dropping, Full, Sending, Idle}

// droppingFor is how long a channel counts as dropping after its count of drops has grown.
const droppingFor = time.Minute

// Condition returns what the channel is doing.
func (c *ChannelStatus) Condition() Condition {
	switch {
	case c.State.Fault != nil:
		return Broken
	case c.State.PausedUntil != nil:
		return Paused
	case c.State.Fallback != "":
		return Fallback
	case c.dropping:
		return Dropping
	case c.full():
		return Full
	case c.Ledger.Pending > 0:
		return Sending
	default:
		return Idle
	}
}

func (c *ChannelStatus) full() bool {
	for _, level := range c.Levels {
		if level.RetryAfter > 0 {
			return true
		}
	}
	return false
}

// compare completes a status with what the one before it shows.
func (c *ChannelStatus) compare(before *ChannelStatus, now time.Time) {
	c.droppedAt = before.droppedAt
	if c.Ledger.Dropped > before.Ledger.Dropped {
		c.droppedAt = now
	}
	c.dropping = now.Sub(c.droppedAt) < droppingFor
	until, known := c.State.PausedUntil, before.State.PausedUntil
	if until != nil && known != nil && until.Sub(*known).Abs() < time.Second {
		c.State.PausedUntil = known // it is the same pause, and is not shown as changed
	}
}
