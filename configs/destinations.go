package configs

import (
	"cmp"
	"strings"

	"slackrelay/notifier"
)

// Sender returns the destination of a channel's messages. If the channel has none, it is the preview.
func (c *Config) Sender(ch Channel, preview func(channel string) notifier.Sender) notifier.Sender {
	if !c.posts(ch) {
		return preview(ch.Name)
	}
	return c.destination(ch.SlackWebhookURL, ch.SlackChannel)
}

// posts reports whether a channel's messages go to Slack, not only to the console.
func (c *Config) posts(ch Channel) bool {
	return ch.SlackWebhookURL != "" || c.SlackToken != "" && ch.SlackChannel != ""
}

// Operations returns the destination of alerts to the operators of the relay; nil = they get none.
func (c *Config) Operations() notifier.Sender {
	if c.OperationsWebhookURL != "" {
		return notifier.NewJSONSink(string(c.OperationsWebhookURL), c.SlackTimeout)
	}
	return c.destination("", c.OperationsSlackChannel)
}

// Canary returns the destination of canaries; nil = there are none.
func (c *Config) Canary() notifier.Sender {
	if c.CanaryInterval == 0 {
		return nil
	}
	return c.destination(c.CanaryWebhookURL, c.CanarySlackChannel)
}

// destination returns an incoming webhook, or a Slack channel for the bot token; nil = neither is set.
func (c *Config) destination(webhook Secret, channel string) notifier.Sender {
	switch {
	case webhook != "":
		return notifier.NewIncomingWebhook(string(webhook), c.SlackTimeout)
	case channel != "":
		return notifier.NewBot(notifier.BotOptions{
			Token: string(c.SlackToken), Channel: channel, APIURL: c.SlackAPIURL, Timeout: c.SlackTimeout,
		})
	default:
		return nil
	}
}

// Destination is a place in Slack that the configuration refers to. Without WebhookURL and SlackChannel, it is the console.
type Destination struct {
	Setting      string // who posts there, for example "channel alerts"
	WebhookURL   Secret
	SlackChannel string // for the bot token
}

// Destinations returns all places in Slack that the configuration refers to, those of the channels first.
func (c *Config) Destinations() []Destination {
	var all []Destination
	for i := range c.Channels {
		ch := &c.Channels[i]
		if strings.Contains(ch.SlackChannel+ch.FallbackSlackChannel, "{{") {
			continue // of a template: its Slack channels are known when it makes a channel
		}
		d := Destination{Setting: "channel " + ch.Name, WebhookURL: ch.SlackWebhookURL}
		if c.SlackToken != "" && ch.SlackWebhookURL == "" {
			d.SlackChannel = ch.SlackChannel
		}
		all = append(all, d)
		if ch.FallbackWebhookURL != "" || ch.FallbackSlackChannel != "" {
			all = append(all, Destination{"fallback of channel " + ch.Name, ch.FallbackWebhookURL, ch.FallbackSlackChannel})
		}
	}
	if c.OperationsSlackChannel != "" {
		all = append(all, Destination{Setting: "operations", SlackChannel: c.OperationsSlackChannel})
	}
	if c.CanaryInterval > 0 {
		all = append(all, Destination{"canary", c.CanaryWebhookURL, c.CanarySlackChannel})
	}
	return all
}

// What Slack allows a token in a minute (https://docs.slack.dev/apis/web-api/rate-limits): "several hundred" posts, and
// tier 3 for edits and for reading.
const (
	slackPostsPerMinute   = 300
	slackEditsPerMinute   = 50
	slackLookupsPerMinute = 50
	// unlimitedPerMinute is for another server than Slack's, which answers 429 by itself.
	unlimitedPerMinute = 1_000_000
)

// PerMinute returns what the bot token may do in a minute: posts, edits and lookups.
func (c *Config) PerMinute() (posts, edits, lookups int64) {
	posts, edits, lookups = slackPostsPerMinute, slackEditsPerMinute, slackLookupsPerMinute
	if c.SlackAPIURL != "" {
		posts, edits, lookups = unlimitedPerMinute, unlimitedPerMinute, unlimitedPerMinute
	}
	return cmp.Or(c.SlackPostsPerMinute, posts), cmp.Or(c.SlackEditsPerMinute, edits), cmp.Or(c.SlackLookupsPerMinute, lookups)
}

func (c *Config) validateOperations(v validator) {
	if c.OperationsWebhookURL != "" && c.OperationsSlackChannel != "" {
		v.fault("operations_webhook_url", "cannot be combined with operations_slack_channel; keep one")
	}
	if c.OperationsSlackChannel != "" && c.SlackToken == "" {
		v.fault("operations_slack_channel", "needs slack_token; set it, or use operations_webhook_url")
	}
	for i, ch := range c.Channels {
		if ch.FallbackSlackChannel != "" && c.SlackToken == "" {
			v.in(indexed("channels", i)).fault("fallback_slack_channel", "needs slack_token; set it, or use fallback_webhook_url")
		}
	}
}

func (c *Config) validateCanary(v validator) {
	if c.CanaryInterval == 0 {
		return
	}
	switch {
	case (c.CanaryWebhookURL == "") == (c.CanarySlackChannel == ""):
		v.fault("canary_interval", "needs a destination; set either canary_slack_channel or canary_webhook_url")
	case c.CanarySlackChannel != "" && c.SlackToken == "":
		v.fault("canary_slack_channel", "needs slack_token; set it, or use canary_webhook_url")
	}
	if c.Operations() == nil {
		v.fault("canary_interval", "needs somebody to alert; set operations_slack_channel or operations_webhook_url")
	}
}
