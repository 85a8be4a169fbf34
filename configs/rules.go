package configs

import (
	"encoding/json"
	"errors"
	"reflect"

	"slackrelay/events"
)

// noRule is what a test wants if no rule may match.
const noRule = "none"

// Rules returns the compiled rules of a channel of a valid configuration; nil = it has none.
func (c *Config) Rules(ch Channel) *events.Rules {
	if len(ch.Rules) == 0 {
		return nil
	}
	rules, _ := newRuleCompiler(c.schedules(newValidator())).compile(ch.Rules) // validated before
	return rules
}

// ruleCompiler compiles lists of rules. Channels with equal lists, as a YAML anchor makes them, share the compiled one.
type ruleCompiler struct {
	schedules []events.Schedule
	known     map[string]compiledRules // by the rules as JSON
}

// compiledRules are a list of rules and what was made of it.
type compiledRules struct {
	from     []events.Rule
	compiled *events.Rules
}

func newRuleCompiler(schedules []events.Schedule) ruleCompiler {
	return ruleCompiler{schedules: schedules, known: map[string]compiledRules{}}
}

func (c ruleCompiler) compile(rules []events.Rule) (*events.Rules, error) {
	text, err := json.Marshal(rules)
	if err != nil {
		return events.NewRules(rules, c.schedules)
	}
	if known, ok := c.known[string(text)]; ok && reflect.DeepEqual(known.from, rules) { // an empty list is no list in JSON
		return known.compiled, nil
	}
	compiled, err := events.NewRules(rules, c.schedules)
	if err == nil {
		c.known[string(text)] = compiledRules{from: rules, compiled: compiled}
	}
	return compiled, err
}

// validateClassification compiles sources, schedules and rules, and runs the tests of the rules.
func (c *Config) validateClassification(v validator) {
	decoder, err := c.Decoder()
	if err != nil {
		v.settings("sources", err)
		decoder, _ = (&Config{}).Decoder()
	}
	compiler := newRuleCompiler(c.schedules(v))
	sources := decoder.Sources()
	known := c.indexes()
	for i, ch := range c.Channels {
		in := v.in(indexed("channels", i))
		ch.validateIngress(in, c, sources)
		ch.validateRules(in, known)
		rules, err := compiler.compile(ch.Rules)
		if err != nil {
			in.settings("rules", err)
		} else {
			ch.runTests(in, decoder, rules, c.ChannelOf)
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

func (c Channel) validateRules(v validator, known map[string]int) {
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
		if to := rule.Set.Channel; to != "" {
			if _, ok := known[to]; !ok {
				in.fault("set.channel", "%q is not a channel; use the name of one", to)
			}
		}
		for _, to := range rule.CopyTo {
			if _, ok := known[to]; !ok {
				in.fault("copy_to", "%q is not a channel; use the names of channels", to)
			}
		}
	}
}
