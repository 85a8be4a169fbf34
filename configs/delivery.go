package configs

import (
	"cmp"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

// Unknown overrides on_unknown for one severity.
type Unknown struct {
	// Severity is the severity.
	Severity string `yaml:"severity" oneof:"critical,error,warning,info"`
	// Do is what happens to such a message, as in on_unknown.
	Do string `yaml:"do" oneof:"retry,drop"`
}

// Mention notifies somebody about events of a severity.
type Mention struct {
	// Severity is the severity.
	Severity string `yaml:"severity" oneof:"critical,error,warning,info"`
	// Who is here, channel, everyone, or the id of a user (U0123) or a user group (S0123).
	Who string `yaml:"who"`
}

// digestEvery is the time between two edits of a digest.
const digestEvery = 30 * time.Second

var severities = []events.Severity{events.Critical, events.Error, events.Warning, events.Info}

func (c Channel) validateDelivery(v validator) {
	c.validateDestination(v)
	for i, m := range c.Mentions {
		if notifier.Mention(m.Who) == "" {
			v.in(indexed("mentions", i)).fault("who",
				"%q cannot be mentioned; use here, channel, everyone, or the id of a user (U0123) or a user group (S0123)", m.Who)
		}
	}
	for i, id := range c.Operators {
		if mention := notifier.Mention(id); mention == "" || strings.HasPrefix(mention, "<!") && !strings.HasPrefix(mention, "<!subteam") {
			v.fault(indexed("operators", i), "%q is not the id of a user or a user group; use an id like U0123ABCD or S0123ABCD", id)
		}
	}
	_, err := notifier.ParseTemplate(c.TemplateTitle, "")
	v.template("template_title", err)
	_, err = notifier.ParseTemplate("", c.TemplateText)
	v.template("template_text", err)
	if c.FallbackWebhookURL != "" && c.FallbackSlackChannel != "" {
		v.fault("fallback_webhook_url", "cannot be combined with fallback_slack_channel; keep one")
	}
}

// template adds the fault of a template; nil = it has none.
func (v validator) template(name string, err error) {
	if err != nil {
		v.fault(name, "cannot be used: %s; write a Go template of an event, for example {{.Title}}",
			strings.ReplaceAll(err.Error(), "template: ", ""))
	}
}

// validateDestination finds what the destination of the channel cannot do.
func (c Channel) validateDestination(v validator) {
	if c.SlackWebhookURL == "" {
		return
	}
	const botOnly = "%q needs the bot token, because an incoming webhook does not return which message it posted; use slack_channel"
	if c.Overflow == "merge" {
		v.fault("overflow", botOnly, c.Overflow)
	}
	if c.Resolves == "reply" || c.Resolves == "edit" {
		v.fault("resolves", botOnly, c.Resolves)
	}
	if c.Repeats == "merge" {
		v.fault("repeats", botOnly, c.Repeats)
	}
}

// withoutAuto returns the channel with what bundle, resolves and repeats stand for where they are auto. Only the bot token can
// edit messages: an incoming webhook does not return which message it posted, and the console shows each event once.
func (c *Config) withoutAuto(ch Channel) Channel {
	bundle, resolves, repeats := "off", "post", "post"
	if c.posts(ch) && ch.SlackWebhookURL == "" {
		bundle, resolves, repeats = "auto", "edit", "merge"
	}
	for value, meaning := range map[*string]string{&ch.Bundle: bundle, &ch.Resolves: resolves, &ch.Repeats: repeats} {
		if *value == "auto" {
			*value = meaning
		}
	}
	return ch
}

// handling returns what happens to events beyond a limit, to resolves and to repeats.
func (c Channel) handling() store.MessagePolicy {
	return store.MessagePolicy{
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

// mentions returns the markup of whom to mention, by severity; nil = nobody.
func (c Channel) mentions() map[events.Severity]string {
	if len(c.Mentions) == 0 {
		return nil
	}
	markup := make(map[events.Severity]string, len(c.Mentions))
	for _, m := range c.Mentions {
		markup[events.Severity(m.Severity)] = notifier.Mention(m.Who)
	}
	return markup
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
