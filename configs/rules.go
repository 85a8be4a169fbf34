package configs

import (
	"regexp"
	"slices"
	"strings"

	"slackrelay/events"
)

// Rule classifies the events of a channel; see [events.Rule].
type Rule struct {
	// Name is the name of the rule in receipts and explanations.
	Name string `yaml:"name"`
	// Match are conditions that must all hold. Each has a field and one of is, in and matches; not inverts it.
	Match []events.Matcher `yaml:"match,omitempty"`
	// When is an expression that must be true.
	When string `yaml:"when,omitempty" unset:"always"`
	// During are schedules. The rule applies to events that arrive in one of them.
	During []string `yaml:"during,omitempty" unset:"always"`
	// Outside are schedules. The rule applies to events that arrive in none of them.
	Outside []string `yaml:"outside,omitempty" unset:"always"`
	// Set is what the rule changes in an event.
	Set Changes `yaml:"set,omitempty"`
	// Mute counts the event as muted instead of sending it.
	Mute bool `yaml:"mute,omitempty"`
	// Continue makes the rules below apply too.
	Continue bool `yaml:"continue,omitempty"`
}

// Changes are what a rule changes in an event. Empty fields change nothing.
type Changes struct {
	// Category is the new category.
	Category string `yaml:"category,omitempty"`
	// CategoryFrom is an expression for the new category.
	CategoryFrom string `yaml:"category_from,omitempty"`
	// Severity is the new severity: critical, error, warning or info.
	Severity string `yaml:"severity,omitempty"`
	// Status is the new status: firing, resolved or none.
	Status string `yaml:"status,omitempty"`
	// Channel is the channel that gets the event.
	Channel string `yaml:"channel,omitempty"`
}

// noRule is what a test wants if no rule may match.
const noRule = "none"

// rules compiles the rules of a channel; nil = it has none.
func (c Channel) rules(schedules []events.Schedule) (*events.Rules, error) {
	if len(c.Rules) == 0 {
		return nil, nil //nolint:nilnil // documented: there are none
	}
	all := make([]events.Rule, len(c.Rules))
	for i, r := range c.Rules {
		all[i] = events.Rule{
			Name: r.Name, Match: r.Match, When: r.When, During: r.During, Outside: r.Outside, Mute: r.Mute, Continue: r.Continue,
			Set: events.Changes{
				Category: r.Set.Category, CategoryFrom: r.Set.CategoryFrom, Severity: events.Severity(r.Set.Severity),
				Status: events.Status(r.Set.Status), Channel: r.Set.Channel,
			},
		}
	}
	return events.NewRules(all, schedules)
}

// Rules returns the compiled rules of a channel of a valid configuration; nil = it has none.
func (c *Config) Rules(ch Channel) *events.Rules {
	schedules, _ := c.schedules() // validated before
	rules, _ := ch.rules(schedules)
	return rules
}

// validateClassification compiles sources, schedules and rules, and runs the tests of the rules.
func (c *Config) validateClassification(v validator) {
	decoder, err := c.Decoder()
	if err != nil {
		*v.faults = append(*v.faults, err)
		decoder, _ = (&Config{}).Decoder()
	}
	schedules, err := c.schedules()
	if err != nil {
		*v.faults = append(*v.faults, err)
		return // rules that refer to it would be reported too
	}
	for i, ch := range c.Channels {
		in := v.in(indexed("channels", i))
		ch.validateIngress(in, c, decoder.Sources())
		ch.validateRules(in, c)
		rules, err := ch.rules(schedules)
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
