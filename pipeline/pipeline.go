// Package pipeline is the order of the steps: [Intake] takes a webhook's events to the limiter, which
// queues what it admits; [Courier] takes what is queued to Slack; [Status] says how it all stands.
package pipeline

import (
	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/outbox"
	"slackrelay/ratelimit"
)

// Channel is a named destination with its limits.
type Channel struct {
	Name        string
	Group       string           // the limit group; "" = the channel's own
	Tiers       []ratelimit.Tier // the levels: channel, category, and further ones
	FirstNotice ratelimit.FirstNotice
	Reserves    []Reserve
	Headroom    map[events.Severity]float64 // the share of the channel that a severity may use; not named = all
	Pace        outbox.Pace
	Sender      notifier.Sender // where its messages go
}

// Reserve keeps slots of the channel for one category.
type Reserve struct {
	Category string
	Slots    int64
}

func (c Channel) scope() ratelimit.Scope {
	return ratelimit.Scope{Group: c.group(), Channel: c.Name}
}

func (c Channel) outbox() outbox.Channel {
	box := outbox.Channel{Group: c.group(), Name: c.Name}
	if tier := c.Tiers[0]; tier.Strategy.Kind == ratelimit.Backlog {
		box.Backlog = c.level(tier, "").Key
	}
	return box
}

func (c Channel) group() string {
	if c.Group == "" {
		return c.Name
	}
	return c.Group
}

// level is a tier as the level of one of its values. A backlog is the outbox's, which is the channel's own.
func (c Channel) level(tier ratelimit.Tier, value string) ratelimit.Level {
	if tier.Name == ratelimit.LevelChannel && tier.Strategy.Kind != ratelimit.Backlog {
		return tier.Outer(c.group())
	}
	return tier.Of(c.scope(), value)
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
