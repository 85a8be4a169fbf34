package configs

import (
	"regexp"
	"slices"
	"strings"

	"slackrelay/events"
)

// noRule is what a test wants if no rule may match.
const noRule = "none"

// Rules returns the compiled rules of a channel of a valid configuration; nil = it has none.
func (c *Config) Rules(ch Channel) *events.Rules {
	if len(ch.Rules) == 0 {
		return nil
	}
	schedules, _ := c.schedules() // validated before
	rules, _ := events.NewRules(ch.Rules, schedules)
	return rules
}

// validateClassification compiles sources, schedules and rules, and runs the tests of the rules.
func (c *Config) validateClassification(v validator) {
	decoder, err := c.Decoder()
	if err != nil {
		v.add(err)
		decoder, _ = (&Config{}).Decoder()
	}
	schedules, err := c.schedules()
	if err != nil {
		v.add(err)
		return // rules that refer to it would be reported too
	}
	for i, ch := range c.Channels {
		in := v.in(indexed("channels", i))
		ch.validateIngress(in, c, decoder.Sources())
		ch.validateRules(in, c)
		rules, err := events.NewRules(ch.Rules, schedules)
		if err != nil {
			in.ruleFault(err)
		} else {
			ch.runTests(in, decoder, rules)
		}
	}
}

// ofRule is how an error of a rule begins: rules[0] (name): match[1]: ...
var ofRule = regexp.MustCompile(`^(rules\[\d+\]) \(.*?\): (?:((?:match\[\d+\]|when|during|outside|set\.[a-z_]+)):? )?(.*)`)

// ruleFault finds the setting that an error of a rule is about.
func (v validator) ruleFault(err error) {
	match := ofRule.FindStringSubmatch(err.Error())
	if match == nil {
		v.fault("rules", "%v", err)
		return
	}
	v.fault(strings.TrimSuffix(match[1]+"."+match[2], "."), "%s", match[3])
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
