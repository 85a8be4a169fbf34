package configs

import (
	"cmp"
	"slices"

	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

// Channel returns a channel by its name, "" = the first, and whether there is one.
func (c *Config) Channel(name string) (Channel, bool) {
	i := slices.IndexFunc(c.Channels, func(ch Channel) bool { return ch.Name == cmp.Or(name, c.Channels[0].Name) })
	if i < 0 {
		return Channel{}, false
	}
	return c.Channels[i], true
}

// indexes returns the index of each channel, by its name; of several with one name, the first.
func (c *Config) indexes() map[string]int {
	all := make(map[string]int, len(c.Channels))
	for i := range c.Channels {
		if _, known := all[c.Channels[i].Name]; !known {
			all[c.Channels[i].Name] = i
		}
	}
	return all
}

// Policies returns what each channel does while Redis is away.
func (c *Config) Policies() map[string]replica.Policy {
	policies := map[string]replica.Policy{}
	for _, ch := range c.Channels {
		policies[ch.Name] = replica.Policy(ch.OnRedisDown)
	}
	return policies
}

// PipelineChannels returns the channels for the pipeline. sender returns the destination of a channel's messages.
func (c *Config) PipelineChannels(sender func(Channel) notifier.Sender) []pipeline.Channel {
	channels := make([]pipeline.Channel, len(c.Channels))
	common := newCommonParts(c)
	for i, ch := range c.Channels {
		channels[i] = pipeline.Channel{
			Name:        ch.Name,
			Group:       ch.LimitGroup,
			Tiers:       common.tiersOf(ch),
			FirstNotice: ch.firstNotice(),
			Headroom:    ch.headroom(),
			Handling:    common.handlingOf(ch),
			Hold:        ch.Hold,
			Flapping:    ch.flapping(),
			Bundle:      ch.Bundle == "webhook",
			Pace:        store.Pace{Every: ch.Pace, Burst: ch.Burst},
			TTL:         ch.TTL,
			Digest:      ch.digestTerms(),
			Sender:      sender(ch),
			Renderer:    common.rendererOf(ch),
			Fallback:    c.destination(ch.FallbackWebhookURL, ch.FallbackSlackChannel),
			DropUnknown: common.dropUnknownOf(ch),
			Rules:       common.rulesOf(ch),
		}
		for _, reserve := range ch.Reserves {
			channels[i].Reserves = append(channels[i].Reserves, pipeline.Reserve(reserve))
		}
	}
	return channels
}
