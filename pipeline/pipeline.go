// Package pipeline is the order of the steps: [Intake] takes a webhook's events to the limiter, which
// queues what it admits; [Courier] takes what is queued to Slack; [Status] says how it all stands, and [Archive]
// what became of what did not get through.
package pipeline

import (
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Channel is a named destination with its limits.
type Channel struct {
	Name        string
	Group       string                // the limit group; "" = the channel's own
	Tiers       []ratelimit.LevelSpec // the levels: channel, category, and further ones
	FirstNotice ratelimit.FirstNotice
	Reserves    []Reserve
	Headroom    map[events.Severity]float64 // the share of the channel that a severity may use; not named = all
	Handling    *store.MessagePolicy        // what becomes of what does not fit, of resolves and of repeats; nil = the limits alone
	Bundle      bool                        // events of one webhook and category become one message
	Pace        store.Pace
	TTL         time.Duration     // how old a message may be when it is sent; 0 = any age
	Digest      store.DigestTerms // Every is for destinations that can edit
	Sender      notifier.Sender   // where its messages go
	Renderer    notifier.Renderer // how they are said
	Rules       *events.Rules     // classify events before the limits are asked; nil = none
	Lane        bool              // it is a lane beside a channel, and no channel that people look at
	Fallback    notifier.Sender   // where they go that Sender refuses for good; nil = nowhere
	// DropUnknown are the severities of which a message that may have been posted is not sent again, where it cannot
	// be looked up.
	DropUnknown map[events.Severity]bool
}

// Reserve keeps slots of the channel for one category.
type Reserve struct {
	Category string
	Slots    int64
}

func (c Channel) scope() store.Channel {
	return store.Channel{Group: c.group(), Name: c.Name}
}

// backlog is the key of the channel's level where that counts what waits in the outbox; "" = it does not.
func (c Channel) backlog() string {
	if len(c.Tiers) > 0 && c.Tiers[0].Strategy.Kind == ratelimit.Backlog {
		return c.level(c.Tiers[0], "").Key
	}
	return ""
}

func (c Channel) group() string {
	if c.Group == "" {
		return c.Name
	}
	return c.Group
}

// level is a tier as the level of one of its values. A backlog is the outbox's, which is the channel's own.
func (c Channel) level(tier ratelimit.LevelSpec, value string) ratelimit.Level {
	if tier.Name == ratelimit.LevelChannel && tier.Strategy.Kind != ratelimit.Backlog {
		return store.ChannelLevel(tier, c.group())
	}
	return store.LevelOf(tier, c.scope(), value)
}

// AllLevels are the channel's levels, each once for all its values.
func (c Channel) AllLevels() []ratelimit.Level {
	levels := make([]ratelimit.Level, len(c.Tiers))
	for i, tier := range c.Tiers {
		levels[i] = c.level(tier, "")
	}
	return levels
}

// levels are those that limit an event, outermost first. An event without a label is not limited by it.
func (c Channel) levels(e events.Event) []ratelimit.Level {
	levels := make([]ratelimit.Level, 0, len(c.Tiers))
	for _, tier := range c.Tiers {
		var value string
		switch tier.Name {
		case ratelimit.LevelChannel:
		case ratelimit.LevelCategory:
			value = e.Category
		case levelSender:
			value = e.Sender
		default:
			label, ok := e.Labels[tier.Name]
			if !ok {
				continue
			}
			value = label
		}
		levels = append(levels, c.level(tier, value))
	}
	return levels
}

// levelSender is the level of who presented the credential.
const levelSender = "sender"

// fairness is what all requests of the channel share; nil = none.
func (c Channel) fairness() *ratelimit.Fairness {
	f := &ratelimit.Fairness{FirstNotice: c.FirstNotice}
	for _, reserve := range c.Reserves {
		level := c.levels(events.Event{Category: reserve.Category})[1]
		f.Reserves = append(f.Reserves, ratelimit.Reserve{Category: reserve.Category, Slots: reserve.Slots, Level: level})
	}
	if !f.FirstNotice.Auto && f.FirstNotice.Slots == 0 && len(f.Reserves) == 0 {
		return nil
	}
	return f
}

// headroom is how many of the channel's slots an event must leave free.
func (c Channel) headroom(e events.Event) int64 {
	share, ok := c.Headroom[e.Severity]
	if !ok {
		return 0
	}
	return ratelimit.Headroom(c.Tiers[0].Windows[0].Limit, share)
}
