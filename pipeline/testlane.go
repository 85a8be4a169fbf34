package pipeline

import (
	"strings"

	"slackrelay/events"
	"slackrelay/store"
)

// testSuffix ends the name of a test lane. No configured channel has a "~" in its name.
const testSuffix = "~test"

// TestLaneOf returns the name of a channel's test lane.
func TestLaneOf(channel string) string { return channel + testSuffix }

// toTestLane sends classified events to the test lanes of their channels.
func toTestLane(all []events.Event) {
	for i := range all {
		all[i].Test = true
		all[i].Channel = TestLaneOf(all[i].Channel)
	}
}

// ChannelOfLane returns the name of the channel that a test lane belongs to; any other name is returned as it is.
func ChannelOfLane(name string) string { return strings.TrimSuffix(name, testSuffix) }

// isLane reports whether the channel of that name carries no real events: a test lane, or the canary's channel. Lanes
// are not listed, and not rechecked.
func isLane(channel string) bool {
	return channel == canaryName || strings.HasSuffix(channel, testSuffix)
}

// TestLane returns a channel for tests: it has the same limits and destination, and a budget and a ledger of its own, so
// that a test spends no slot of the real channel.
func (c *Channel) TestLane() Channel {
	lane := *c
	lane.Name = TestLaneOf(c.Name)
	lane.Group = ""
	lane.Rules = nil
	lane.Fallback = nil
	lane.Digest.Interval = 0
	lane.Remind = Remind{}
	if c.Handling != nil {
		quiet := *c.Handling
		quiet.Digest = false
		lane.Handling = &quiet
	}
	return lane
}

// WithTestLanes returns the channels, followed by their test lanes. A channel with a backlog has none: its budget is its
// outbox, which a test would fill.
func WithTestLanes(channels []Channel) []Channel {
	all := make([]Channel, len(channels), 2*len(channels)+1) // the canary may follow
	copy(all, channels)
	quiet := map[store.MessagePolicy]*store.MessagePolicy{} // lanes with the same handling share it
	for i := range channels {
		if channels[i].backlogged() {
			continue
		}
		lane := channels[i].TestLane()
		if lane.Handling != nil {
			if quiet[*lane.Handling] == nil {
				quiet[*lane.Handling] = lane.Handling
			}
			lane.Handling = quiet[*lane.Handling]
		}
		all = append(all, lane)
	}
	return all
}
