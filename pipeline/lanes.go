package pipeline

import (
	"slices"

	"slackrelay/ratelimit"
)

// testSuffix names the test lane of a channel: no channel can be called so.
const testSuffix = "~test"

// TestLaneOf is the name of a channel's test lane.
func TestLaneOf(channel string) string { return channel + testSuffix }

// TestLane is a channel for tests: the same limits and destination, with a budget and a ledger of its own, so that a test
// never spends what is real.
func (c Channel) TestLane() Channel {
	lane := c
	lane.Name, lane.Group, lane.Lane = TestLaneOf(c.Name), "", true
	lane.Rules, lane.Fallback = nil, nil
	lane.Digest.Interval = 0
	if c.Handling != nil {
		quiet := *c.Handling
		quiet.Digest = false
		lane.Handling = &quiet
	}
	lane.Tiers = slices.Clone(c.Tiers)
	return lane
}

// WithLanes are the channels, and after them their lanes.
func WithLanes(channels []Channel) []Channel {
	all := slices.Clone(channels)
	for _, ch := range channels {
		if len(ch.Tiers) > 0 && ch.Tiers[0].Strategy.Kind == ratelimit.Backlog {
			continue // its budget is its outbox, which a test would fill
		}
		all = append(all, ch.TestLane())
	}
	return all
}
