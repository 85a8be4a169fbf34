// Package pipeline is the order of the steps: [Intake] takes a webhook's events to the limiter, which
// queues what it admits; [Courier] takes what is queued to Slack; [Status] says how it all stands.
package pipeline

import (
	"slackrelay/notifier"
	"slackrelay/outbox"
	"slackrelay/ratelimit"
)

// Channel is a named destination with its limits.
type Channel struct {
	Name     string
	Group    string           // the limit group; "" = the channel's own
	Global   ratelimit.Window // the channel level
	Category ratelimit.Window // each category of the channel
	Pace     outbox.Pace
	Sender   notifier.Sender // where its messages go
}

func (c Channel) scope() ratelimit.Scope {
	return ratelimit.Scope{Group: c.group(), Channel: c.Name}
}

func (c Channel) outbox() outbox.Channel {
	return outbox.Channel{Group: c.group(), Name: c.Name}
}

func (c Channel) group() string {
	if c.Group == "" {
		return c.Name
	}
	return c.Group
}

func (c Channel) channelLevel() ratelimit.Level {
	return ratelimit.Outer(c.group(), c.Global)
}

func (c Channel) categoryLevel(category string) ratelimit.Level {
	return ratelimit.Inner(c.scope(), "category", category, c.Category)
}
