package configs

import (
	"fmt"
	"maps"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// commonParts makes the parts of channels that nobody changes afterwards. Equal parts are made once and shared: of thousands
// of channels, most have the same limits, the same handling and the same rules.
type commonParts struct {
	rules       ruleCompiler
	tiers       map[string][]ratelimit.LevelSpec // by their text
	handling    map[store.MessagePolicy]*store.MessagePolicy
	templates   map[[2]string]*notifier.Template // by title and text
	dropUnknown []map[events.Severity]bool
	pages       notifier.Pages

	receivesClicks func(ch Channel) bool
}

func newCommonParts(c *Config) *commonParts {
	return &commonParts{
		rules:    newRuleCompiler(c.schedules(newValidator())),
		tiers:    map[string][]ratelimit.LevelSpec{},
		handling: map[store.MessagePolicy]*store.MessagePolicy{}, templates: map[[2]string]*notifier.Template{},
		pages: notifier.Pages(c.ExternalURL), receivesClicks: c.ReceivesClicks,
	}
}

// known returns what a map has under a key. If it has nothing there, create makes it.
func known[K comparable, V any](all map[K]V, key K, create func() V) V {
	value, ok := all[key]
	if !ok {
		value = create()
		all[key] = value
	}
	return value
}

func (p *commonParts) rulesOf(ch Channel) *events.Rules {
	if len(ch.Rules) == 0 {
		return nil
	}
	rules, _ := p.rules.compile(ch.Rules) // validated before
	return rules
}

func (p *commonParts) tiersOf(ch Channel) []ratelimit.LevelSpec {
	tiers := ch.Tiers()
	return known(p.tiers, fmt.Sprintf("%+v", tiers), func() []ratelimit.LevelSpec { return tiers })
}

func (p *commonParts) handlingOf(ch Channel) *store.MessagePolicy {
	policy := ch.handling()
	return known(p.handling, policy, func() *store.MessagePolicy { return &policy })
}

func (p *commonParts) rendererOf(ch Channel) notifier.Renderer {
	template := known(p.templates, [2]string{ch.TemplateTitle, ch.TemplateText}, func() *notifier.Template {
		parsed, _ := notifier.ParseTemplate(ch.TemplateTitle, ch.TemplateText) // validated before
		return parsed
	})
	return notifier.Renderer{
		AllowMentions: ch.AllowMentions, Mentions: ch.mentions(), ReminderMention: notifier.Mention(ch.RemindMention),
		Template: template, Pages: p.pages,
	}
}

func (p *commonParts) dropUnknownOf(ch Channel) map[events.Severity]bool {
	drops := ch.dropUnknown()
	for _, other := range p.dropUnknown { // there are sixteen at most
		if maps.Equal(other, drops) {
			return other
		}
	}
	p.dropUnknown = append(p.dropUnknown, drops)
	return drops
}
