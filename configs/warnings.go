package configs

import (
	"strings"

	"slackrelay/pipeline"
	"slackrelay/slackapp"
)

// warnings returns what works but is probably not intended, as [FieldError].
func (c *Config) warnings() []*FieldError {
	v := newValidator()
	if c.RedisURL == "" && len(c.RedisAddrs) == 0 {
		v.fault("redis_url", "is not set; limits apply to this process only, and pending messages are lost when it stops")
	}
	c.credentialWarnings(v)
	tokenWarnings(v, c.CommonSlackAccess())
	if opts, err := c.Redis(); err == nil && opts != nil && opts.TLSConfig != nil && opts.TLSConfig.InsecureSkipVerify {
		v.fault("redis_url", "skip_verify=true makes the relay accept any server as Redis, whatever its certificate; "+
			"remove it, and make the system trust the authority of the certificate")
	}
	for i, ch := range c.Channels {
		c.channelWarnings(v.in(indexed("channels", i)), ch)
	}
	return *v.faults
}

// channelWarnings finds what is probably not intended in a channel.
func (c *Config) channelWarnings(v validator, ch Channel) {
	switch {
	case ch.SlackChannel != "" && c.SlackAccess(ch).Token == "":
		v.fault("slack_channel", "slack_token is not set; messages of channel %s are only printed on the console", ch.Name)
	case ch.SlackChannel == "" && ch.SlackWebhookURL == "":
		v.fault("slack_channel", "channel %s has no Slack destination; its messages are only printed on the console", ch.Name)
	}
	if ch.SlackToken != "" {
		tokenWarnings(v, c.SlackAccess(ch))
	}
	if ch.SlackToken != "" && ch.SlackWebhookURL != "" && ch.FallbackSlackChannel == "" {
		v.fault("slack_token", "is not used, because slack_webhook_url replaces it; remove one of them")
	}
	ch.chatServerWarnings(v)
	ch.fairnessWarnings(v)
	ch.templateWarnings(v)
	if ch.CategoryLimit > ch.GlobalLimit {
		v.fault("category_limit", "%d is above global_limit, %d, and is never reached", ch.CategoryLimit, ch.GlobalLimit)
	}
}

// templateWarnings finds templates with which the sender of an event chooses among all channels.
func (c Channel) templateWarnings(v validator) {
	if !c.isTemplate() || c.Values != "" {
		return
	}
	for _, place := range []struct{ name, text, sort string }{
		{"name", c.Name, "configured"}, {"slack_channel", c.SlackChannel, "Slack"}, {"fallback_slack_channel", c.FallbackSlackChannel, "Slack"},
	} {
		sign := place.text[:len(place.text)-len(strings.TrimPrefix(place.text, "#"))]
		pattern, ok := pipeline.ParsePattern(place.text)
		if ok && pattern.With("") == sign {
			v.fault(place.name, "%q lets a sender choose any %s channel by a label; add a prefix, for example %steam-{{%s}}, "+
				"or allow few values", place.text, place.sort, sign, pattern.Label)
		}
	}
}

// tokenWarnings reports a Slack token that cannot be one. Another server than Slack's may have tokens of any form.
func tokenWarnings(v validator, access SlackAccess) {
	if access.Token == "" || !slackapp.IsSlackAPI(access.APIURL) {
		return
	}
	if message, remedy := slackapp.TokenFault(string(access.Token)); message != "" {
		v.fault("slack_token", "%s; %s", message, remedy)
	}
}
