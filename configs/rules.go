package configs

import (
	"errors"
	"slices"

	"slackrelay/events"
)

// noRule is what a test wants if no rule may match.
const noRule = "none"

// Rules returns the compiled rules of a channel of a valid configuration; nil = it has none.
func (c *Config) Rules(ch Channel) *events.Rules {
	if len(ch.Rules) == 0 {
		return nil
	}
	rules, _ := events.NewRules(ch.Rules, c.schedules(newValidator())) // validated before
	return rules
}

// validateClassification compiles sources, schedules and rules, and runs the tests of the rules.
func (c *Config) validateClassification(v validator) {
	decoder, err := c.Decoder()
	if err != nil {
		v.settings("sources", err)
		decoder, _ = (&Config{}).Decoder()
	}
	schedules := c.schedules(v)
	for i, ch := range c.Channels {
		in := v.in(indexed("channels", i))
		ch.validateIngress(in, c, decoder.Sources())
		ch.validateRules(in, c)
		rules, err := events.NewRules(ch.Rules, schedules)
		if err != nil {
			in.settings("rules", err)
		} else {
			ch.runTests(in, decoder, rules)
		}
	}
}

// settings adds the faults of a list of rules or sources.
func (v validator) settings(list string, err error) {
	for _, err := range flatten(err) {
		if fault, ok := errors.AsType[*events.SettingError](err); ok {
			v.in(indexed(list, fault.Index)).fault(fault.Field, "%v", fault.Err)
		}
	}
}

func (c Channel) validateRules(v validator, cfg *Config) {
	names := map[string]bool{noRule: true}
	for i, rule := range c.Rules {
		in := v.in(indexed("rules", i))
		switch {
		case rule.Name == "":
			in.fault("name", "is empty; receipts name the rule that decided")
		case names[rule.Name]:
			in.fault("name", "%q is the name of another rule, or is none, which means no rule; use each name once", rule.Name)
		}
		names[rule.Name] = true
		to := rule.Set.Channel
		if to != "" && !slices.ContainsFunc(cfg.Channels, func(ch Channel) bool { return ch.Name == to }) {
			in.fault("set.channel", "%q is not a channel; use the name of one", to)
		}
	}
}
