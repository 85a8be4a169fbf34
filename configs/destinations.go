package configs

import (
	"cmp"
	"strings"

	"slackrelay/notifier"
	"slackrelay/slackapp"
)

// posts reports whether a channel's messages go to Slack, not only to the console.
func (c *Config) posts(ch Channel) bool {
	return ch.SlackWebhookURL != "" || c.SlackAccess(ch).Token != "" && ch.SlackChannel != ""
}

// Destination is a place in Slack that the configuration refers to. Without WebhookURL and SlackChannel, it is the console.
type Destination struct {
	Setting      string // who posts there, for example "channel alerts"
	WebhookURL   Secret
	SlackChannel string      // for the bot token
	Access       SlackAccess // of SlackChannel
}

// Destinations returns all places in Slack that the configuration refers to, those of the channels first.
func (c *Config) Destinations() []Destination {
	var all []Destination
	for i := range c.Channels {
		ch := &c.Channels[i]
		if strings.Contains(ch.SlackChannel+ch.FallbackSlackChannel, "{{") {
			continue // of a template: its Slack channels are known when it makes a channel
		}
		access := c.SlackAccess(*ch)
		d := Destination{Setting: "channel " + ch.Name, WebhookURL: ch.SlackWebhookURL, Access: access}
		if access.Token != "" && ch.SlackWebhookURL == "" {
			d.SlackChannel = ch.SlackChannel
		}
		all = append(all, d)
		if ch.FallbackWebhookURL != "" || ch.FallbackSlackChannel != "" {
			all = append(all, Destination{"fallback of channel " + ch.Name, ch.FallbackWebhookURL, ch.FallbackSlackChannel, access})
		}
	}
	if c.OperationsSlackChannel != "" {
		all = append(all, Destination{Setting: "operations", SlackChannel: c.OperationsSlackChannel, Access: c.CommonSlackAccess()})
	}
	if c.CanaryInterval > 0 {
		all = append(all, Destination{"canary", c.CanaryWebhookURL, c.CanarySlackChannel, c.CommonSlackAccess()})
	}
	return all
}

// perMinute returns what a bot token may do in a minute.
func (c *Config) perMinute(app SlackApp) notifier.Rates {
	rates := notifier.SlackRates()
	if !slackapp.IsSlackAPI(app.APIURL) {
		rates = notifier.UnlimitedRates()
	}
	return notifier.Rates{
		Posts:   cmp.Or(c.SlackPostsPerMinute, rates.Posts),
		Edits:   cmp.Or(c.SlackEditsPerMinute, rates.Edits),
		Lookups: cmp.Or(c.SlackLookupsPerMinute, rates.Lookups),
	}
}

func (c *Config) validateOperations(v validator) {
	if c.OperationsWebhookURL != "" && c.OperationsSlackChannel != "" {
		v.fault("operations_webhook_url", "cannot be combined with operations_slack_channel; keep one")
	}
	if c.OperationsSlackChannel != "" && c.SlackToken == "" {
		v.fault("operations_slack_channel", "needs slack_token; set it, or use operations_webhook_url")
	}
	for i, ch := range c.Channels {
		if ch.FallbackSlackChannel != "" && c.SlackAccess(ch).Token == "" {
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
	if c.OperationsWebhookURL == "" && c.OperationsSlackChannel == "" {
		v.fault("canary_interval", "needs somebody to alert; set operations_slack_channel or operations_webhook_url")
	}
}
