package configs

import (
	"cmp"
	"slices"

	"slackrelay/pipeline"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

// Channel returns a channel by its name, "" = the first, and whether there is one. Those that a template would make are among them.
func (c *Config) Channel(name string) (Channel, bool) {
	name = cmp.Or(name, c.FirstChannel())
	i := slices.IndexFunc(c.Channels, func(ch Channel) bool { return ch.Name == name })
	if i < 0 {
		return c.instanceNamed(name)
	}
	return c.Channels[i], true
}

// FirstChannel returns the name of the first channel that is no template.
func (c *Config) FirstChannel() string {
	for i := range c.Channels {
		if !c.Channels[i].isTemplate() {
			return c.Channels[i].Name
		}
	}
	return ""
}

// ChannelNames returns the names of the channels that are no templates, in their order.
func (c *Config) ChannelNames() []string {
	var names []string
	for i := range c.Channels {
		if !c.Channels[i].isTemplate() {
			names = append(names, c.Channels[i].Name)
		}
	}
	return names
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

// PipelineChannels returns the channels for the pipeline, without templates. senders makes their destinations; nil = they have none.
func (c *Config) PipelineChannels(senders *Senders) []pipeline.Channel {
	channels := make([]pipeline.Channel, 0, len(c.Channels))
	common := newCommonParts(c)
	for _, ch := range c.Channels {
		if ch.isTemplate() {
			continue
		}
		made := common.channelOf(c.withoutAuto(ch))
		made.Sender = senders.Of(ch)
		made.Fallback = senders.Fallback(ch)
		channels = append(channels, made)
	}
	return channels
}

// channelOf returns a channel for the pipeline, without destinations.
func (p *commonParts) channelOf(ch Channel) pipeline.Channel {
	made := pipeline.Channel{
		Name:           ch.Name,
		Group:          ch.LimitGroup,
		Tiers:          p.tiersOf(ch),
		FirstNotice:    ch.firstNotice(),
		Headroom:       ch.headroom(),
		Handling:       p.handlingOf(ch),
		Hold:           ch.Hold,
		Flapping:       ch.flapping(),
		Remind:         ch.remind(),
		Bundle:         pipeline.BundlePolicy(ch.Bundle),
		Pace:           store.Pace{Every: ch.Pace, Burst: ch.Burst},
		TTL:            ch.TTL,
		Digest:         ch.digestTerms(),
		SilenceNotices: ch.SilenceNotices,
		Renderer:       p.rendererOf(ch),
		DropUnknown:    p.dropUnknownOf(ch),
		Rules:          p.rulesOf(ch),
		Operators:      ch.Operators,
	}
	made.Renderer.Buttons = ch.Actions == "auto" && p.receivesClicks(ch)
	made.Renderer.Mutes = len(ch.Operators) > 0
	for _, reserve := range ch.Reserves {
		made.Reserves = append(made.Reserves, pipeline.Reserve(reserve))
	}
	return made
}
