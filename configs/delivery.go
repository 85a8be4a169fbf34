package configs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

// Unknown says what becomes of a message of a severity that may have been posted.
type Unknown struct {
	// Severity is the severity, and Do what is done: retry or drop.
	Severity string `yaml:"severity"`
	Do       string `yaml:"do"`
}

// Mention calls somebody for a severity: here, channel, everyone, or the id of a user (U...) or a user group (S...).
type Mention struct {
	// Severity is the severity, and Who is called: here, channel, everyone, or the id of a user or a user group.
	Severity string `yaml:"severity"`
	Who      string `yaml:"who"`
}

const (
	maxDelayed     = 100_000
	maxDropRecord  = 100_000
	maxDeadLetters = 100_000
	maxPerMinute   = 1_000_000
	digestEvery    = 30 * time.Second
	maxCanary      = 24 * time.Hour
)

func (c Channel) validateDelivery(v *validator) {
	v.between("ttl", c.TTL, 0, maxWindow)
	v.oneOf("overflow", c.Overflow, "drop", "delay", "merge")
	v.oneOf("bundle", c.Bundle, "off", "webhook")
	v.oneOf("resolves", c.Resolves, "post", "reply", "edit")
	v.oneOf("repeats", c.Repeats, "post", "merge")
	v.oneOf("on_unknown", c.OnUnknown, "retry", "drop")
	v.between("remember_posted", c.RememberPosted, time.Minute, maxWindow)
	if c.Overflow == "delay" {
		v.within("max_delayed", c.MaxDelayed, 1, maxDelayed)
		v.between("max_delay", c.MaxDelay, time.Second, maxWindow)
	}
	if c.DigestInterval != 0 {
		v.between("digest_interval", c.DigestInterval, time.Second, maxWindow)
	}
	v.within("digest_minimum", c.DigestMinimum, 1, maxLimit)
	v.within("drop_record", c.DropRecord, 0, maxDropRecord)
	c.validateNeeds(v)
	for i, u := range c.Unknown {
		v.severity(indexed("unknown", i)+".severity", u.Severity)
		v.oneOf(indexed("unknown", i)+".do", u.Do, "retry", "drop")
	}
	for i, m := range c.Mentions {
		v.severity(indexed("mentions", i)+".severity", m.Severity)
		if notifier.Mention(m.Who) == "" {
			v.fault(indexed("mentions", i)+".who", "is %q; it must be here, channel, everyone, or the id of a user (U...) or a user group (S...)", m.Who)
		}
	}
	if _, err := notifier.ParseTemplate(c.TemplateTitle, c.TemplateText); err != nil {
		v.fault("template_title", "or template_text cannot be used: %v", err)
	}
	c.validateFallback(v)
}

// validateNeeds finds what the destination of the channel cannot do.
func (c Channel) validateNeeds(v *validator) {
	for name, wants := range map[string]bool{
		"overflow": c.Overflow == "merge", "resolves": c.Resolves != "post", "repeats": c.Repeats == "merge",
	} {
		if wants && c.SlackWebhookURL != "" {
			v.fault(name, "needs the bot token: an incoming webhook does not tell which message it posted; set slack_channel instead")
		}
	}
}

func (c Channel) validateFallback(v *validator) {
	switch {
	case c.FallbackWebhookURL == "":
	case !isWebURL(string(c.FallbackWebhookURL)):
		v.fault("fallback_webhook_url", "must be an http or https URL")
	case c.FallbackSlackChannel != "":
		v.fault("fallback_webhook_url", "and fallback_slack_channel are both set; keep one")
	}
}

// validateOperations checks where operators are told, and what the token may do.
func (c *Config) validateOperations(v *validator) {
	switch {
	case c.OperationsWebhookURL == "":
	case !isWebURL(string(c.OperationsWebhookURL)):
		v.fault("operations_webhook_url", "must be an http or https URL")
	case c.OperationsSlackChannel != "":
		v.fault("operations_webhook_url", "and operations_slack_channel are both set; keep one")
	}
	if c.OperationsSlackChannel != "" && c.SlackToken == "" {
		v.fault("operations_slack_channel", "needs slack_token; or set operations_webhook_url")
	}
	v.between("slack_settle", c.SlackSettle, 0, 10*time.Minute)
	v.within("slack_posts_per_minute", c.SlackPostsPerMinute, 0, maxPerMinute)
	v.within("slack_edits_per_minute", c.SlackEditsPerMinute, 0, maxPerMinute)
	v.within("slack_lookups_per_minute", c.SlackLookupsPerMinute, 0, maxPerMinute)
	v.within("dead_letters", c.DeadLetters, 1, maxDeadLetters)
	for i, ch := range c.Channels {
		if ch.FallbackSlackChannel != "" && c.SlackToken == "" {
			v.fault(indexed("channels", i)+" ("+ch.Name+").fallback_slack_channel", "needs slack_token; or set fallback_webhook_url")
		}
	}
}

func indexed(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }

func (v *validator) severity(name, severity string) {
	if !slices.Contains(severities, events.Severity(severity)) {
		v.fault(name, "is %q; it must be critical, error, warning or info", severity)
	}
}

func (v *validator) within(name string, n, low, high int64) {
	if n < low || n > high {
		v.fault(name, "is %d; it must be between %d and %d", n, low, high)
	}
}

// handling is what becomes of what does not fit, of resolves and of repeats.
func (c Channel) handling() *store.MessagePolicy {
	return &store.MessagePolicy{
		Overflow: store.OverflowPolicy(c.Overflow), MaxDelayed: c.MaxDelayed, MaxDelay: c.MaxDelay, Resolves: store.ResolvesPolicy(c.Resolves),
		Repeats: c.Repeats == "merge", Digest: c.Digest, KeepDrops: c.DropRecord, PostedFor: c.RememberPosted,
	}
}

func (c Channel) digestTerms() store.DigestTerms {
	if !c.Digest {
		return store.DigestTerms{}
	}
	return store.DigestTerms{
		Interval: cmp.Or(c.DigestInterval, c.GlobalWindow, c.Window), EditEvery: digestEvery, Minimum: c.DigestMinimum,
	}
}

func (c Channel) renderer() notifier.Renderer {
	r := notifier.Renderer{AllowMentions: c.AllowMentions, Mentions: map[events.Severity]string{}}
	for _, m := range c.Mentions {
		r.Mentions[events.Severity(m.Severity)] = notifier.Mention(m.Who)
	}
	r.Template, _ = notifier.ParseTemplate(c.TemplateTitle, c.TemplateText) // validated before
	return r
}

func (c Channel) dropUnknown() map[events.Severity]bool {
	drops := map[events.Severity]bool{}
	for _, severity := range severities {
		drops[severity] = c.OnUnknown == "drop"
	}
	for _, u := range c.Unknown {
		drops[events.Severity(u.Severity)] = u.Do == "drop"
	}
	return drops
}

// fallback makes where a channel's refused messages go; nil = nowhere.
func (c *Config) fallback(ch Channel) notifier.Sender {
	switch {
	case ch.FallbackWebhookURL != "":
		return notifier.NewWebhook(notifier.WebhookOptions{URL: string(ch.FallbackWebhookURL), Timeout: c.SlackTimeout})
	case ch.FallbackSlackChannel != "":
		return c.botFor(ch.FallbackSlackChannel)
	default:
		return nil
	}
}

// What Slack allows a token in a minute (https://docs.slack.dev/apis/web-api/rate-limits): "several hundred" posts, and
// tier 3 for edits and for reading.
const (
	slackPostsPerMinute   = 300
	slackEditsPerMinute   = 50
	slackLookupsPerMinute = 50
)

// PerMinute is what a token may do in a minute: posts, edits and lookups.
func (c *Config) PerMinute() (posts, edits, lookups int64) {
	posts, edits, lookups = slackPostsPerMinute, slackEditsPerMinute, slackLookupsPerMinute
	if c.SlackApiURL != "" {
		posts, edits, lookups = maxPerMinute, maxPerMinute, maxPerMinute
	}
	return cmp.Or(c.SlackPostsPerMinute, posts), cmp.Or(c.SlackEditsPerMinute, edits), cmp.Or(c.SlackLookupsPerMinute, lookups)
}

// Operations makes where the operators of the relay are told; nil = nowhere.
func (c *Config) Operations() notifier.Sender {
	switch {
	case c.OperationsWebhookURL != "":
		return notifier.NewHook(string(c.OperationsWebhookURL), c.SlackTimeout)
	case c.OperationsSlackChannel != "":
		return c.botFor(c.OperationsSlackChannel)
	default:
		return nil
	}
}

// validateCanary checks where the canary goes.
func (c *Config) validateCanary(v *validator) {
	if c.CanaryWebhookURL != "" && !isWebURL(string(c.CanaryWebhookURL)) {
		v.fault("canary_webhook_url", "must be an http or https URL")
	}
	if c.CanaryInterval == 0 {
		return
	}
	v.between("canary_interval", c.CanaryInterval, time.Second, maxCanary)
	v.between("canary_within", c.CanaryWithin, time.Second, maxCanary)
	switch {
	case (c.CanaryWebhookURL == "") == (c.CanarySlackChannel == ""):
		v.fault("canary_interval", "needs canary_slack_channel or canary_webhook_url, where the canary goes")
	case c.CanarySlackChannel != "" && c.SlackToken == "":
		v.fault("canary_slack_channel", "needs slack_token; or set canary_webhook_url")
	}
	if c.Operations() == nil {
		v.fault("canary_interval", "needs operations_slack_channel or operations_webhook_url, which are told when it does not arrive")
	}
}

// Canary makes where the canary goes; nil = there is none.
func (c *Config) Canary() notifier.Sender {
	switch {
	case c.CanaryInterval == 0:
		return nil
	case c.CanaryWebhookURL != "":
		return notifier.NewWebhook(notifier.WebhookOptions{URL: string(c.CanaryWebhookURL), Timeout: c.SlackTimeout})
	default:
		return c.botFor(c.CanarySlackChannel)
	}
}

func (c *Config) botFor(channel string) *notifier.Bot {
	return notifier.NewBot(notifier.BotOptions{
		Token: string(c.SlackToken), Channel: channel, APIURL: c.SlackApiURL, Timeout: c.SlackTimeout,
	})
}
