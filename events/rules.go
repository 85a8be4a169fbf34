package events

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/expr-lang/expr"
)

// Rule classifies events: it may change an event, send it to another channel, or mute it.
//
//	events.Rule{
//		Name:  "payments page",
//		Match: []events.Matcher{{Field: "label.team", Is: &team}},
//		Set:   events.Changes{Severity: events.Critical, Channel: "pager"},
//	}
type Rule struct {
	// Name is the name of the rule in receipts and explanations.
	Name string `yaml:"name"`
	// Match are conditions that must all hold. Each has a field and one of is, in and matches; not inverts it.
	Match []Matcher `yaml:"match,omitempty"`
	// When is an expression that must be true.
	When string `yaml:"when,omitempty" unset:"always"`
	// During are schedules. The rule applies to events that arrive in one of them.
	During []string `yaml:"during,omitempty" unset:"always"`
	// Outside are schedules. The rule applies to events that arrive in none of them.
	Outside []string `yaml:"outside,omitempty" unset:"always"`
	// Set is what the rule changes in an event.
	Set Changes `yaml:"set,omitempty"`
	// CopyTo are further channels that get a copy of the event as the rules leave it. Their limits apply to the copies; their
	// rules do not.
	CopyTo []string `yaml:"copy_to,omitempty"`
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
	Severity Severity `yaml:"severity,omitempty"`
	// Status is the new status: firing, resolved or none.
	Status Status `yaml:"status,omitempty"`
	// Channel is the channel that gets the event.
	Channel string `yaml:"channel,omitempty"`
	// Hold is how long a firing waits for its resolve, in place of the hold of the channel. 0s = it does not wait.
	Hold *time.Duration `yaml:"hold,omitempty"`
}

// maxCopies is how many copies of an event a rule can make.
const maxCopies = 16

// noStatusWord is the value of Changes.Status that removes the status of an event.
const noStatusWord = "none"

// Rules classify the events of a channel. They are evaluated in order, up to the first match without Continue.
type Rules struct {
	rules []compiledRule
}

type compiledRule struct {
	Rule
	match              []CompiledMatcher
	category           string // Set.Category, normalised
	when, categoryFrom *expression
	during, outside    times
}

// newRuleEnv returns the variables of a rule's expressions. Those of the zero event have the types that code is checked against.
func newRuleEnv(e *Event, header http.Header) map[string]any {
	env := map[string]any{"labels": e.Labels, "header": header.Get}
	for name, read := range fields {
		env[name] = read(e)
	}
	links := make([]string, len(e.Links))
	for i, link := range e.Links {
		links[i] = link.URL
	}
	env["links"] = links
	return env
}

// NewRules compiles rules. The error joins a [SettingError] for each fault.
func NewRules(rules []Rule, schedules []Schedule) (*Rules, error) {
	all := &Rules{}
	var faults settingFaults
	for i, rule := range rules {
		all.rules = append(all.rules, rule.compile(schedules, faults.of(i, fmt.Sprintf("rules[%d] (%s)", i, rule.Name))))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return all, nil
}

func (r Rule) compile(schedules []Schedule, fault func(field string, err error)) compiledRule {
	c := compiledRule{Rule: r}
	for i, m := range r.Match {
		compiled, err := m.Compile()
		fault(fmt.Sprintf("match[%d]", i), err)
		c.match = append(c.match, compiled)
	}
	if r.Set.Category != "" {
		c.category = NormalizeCategory(r.Set.Category)
	}
	var err error
	c.when, err = compileRule(r.When, expr.AsBool())
	fault("when", err)
	c.categoryFrom, err = compileRule(r.Set.CategoryFrom)
	fault("set.category_from", err)
	c.during, err = timesOf(r.During, schedules)
	fault("during", err)
	c.outside, err = timesOf(r.Outside, schedules)
	fault("outside", err)
	r.Set.check(fault)
	switch {
	case r.Mute && len(r.CopyTo) > 0:
		fault("copy_to", errors.New("cannot be combined with mute, which lets no copy through; keep one, or use set.channel"))
	case len(r.CopyTo) > maxCopies:
		fault("copy_to", fmt.Errorf("has %d channels, at most %d are allowed; name fewer", len(r.CopyTo), maxCopies))
	}
	return c
}

func compileRule(code string, options ...expr.Option) (*expression, error) {
	if code == "" {
		return nil, nil //nolint:nilnil // there is no expression
	}
	return compileExpression(code, append(options, expr.Env(newRuleEnv(&Event{}, nil)))...)
}

func (c Changes) check(fault func(field string, err error)) {
	if c.Severity != "" && severities[string(c.Severity)] != c.Severity {
		fault("set.severity", fmt.Errorf("%q is not a severity; use critical, error, warning or info", c.Severity))
	}
	if c.Status != "" && c.Status != Firing && c.Status != Resolved && c.Status != noStatusWord {
		fault("set.status", fmt.Errorf("%q is not a status; use firing, resolved or none", c.Status))
	}
	if c.Hold != nil && (*c.Hold < 0 || *c.Hold > maxHold) {
		fault("set.hold", fmt.Errorf("%s is out of range; use 0s to 24h", *c.Hold))
	}
	if c.Category != "" && c.CategoryFrom != "" {
		fault("set.category", errors.New("cannot be combined with set.category_from; keep one"))
	}
}

// Apply classifies an event that came with these headers and arrived at now. A nil Rules changes nothing.
func (r *Rules) Apply(e *Event, header http.Header, now time.Time) Verdict {
	return r.apply(e, header, now, false)
}

// Explain is Apply with the reasons in [Verdict].Steps.
func (r *Rules) Explain(e *Event, header http.Header, now time.Time) Verdict {
	return r.apply(e, header, now, true)
}

func (r *Rules) apply(e *Event, header http.Header, now time.Time, explain bool) Verdict {
	v := Verdict{Channel: e.Channel}
	if r == nil {
		return v
	}
	for i := range r.rules {
		rule := &r.rules[i]
		why := rule.mismatch(e, header, now, explain)
		if explain {
			v.Steps = append(v.Steps, Step{Rule: rule.Name, Matched: why == "", Why: cmp.Or(why, "all its conditions match")})
		}
		if why != "" {
			continue
		}
		v.Rules = append(v.Rules, rule.Name)
		rule.apply(e, header)
		if rule.Set.Channel != "" {
			v.Channel = rule.Set.Channel
		}
		v.Copies = append(v.Copies, rule.CopyTo...)
		if rule.Mute && !v.Muted {
			v.Muted = true
			v.MutedBy = rule.Name
		}
		if !rule.Continue {
			break
		}
	}
	v.Copies = v.copies()
	return v
}

// mismatch returns why a rule does not match an event; "" = it matches. It is a sentence only where explain asks for it.
func (r *compiledRule) mismatch(e *Event, header http.Header, now time.Time, explain bool) string {
	for _, m := range r.match {
		if m.Matches(e, header) {
			continue
		}
		if !explain {
			return "no"
		}
		return fmt.Sprintf("%s does not match: it is %q", m.Matcher, cut(m.value(e, header), maxPath))
	}
	switch {
	case r.during != nil && !r.during.contain(now):
		return "the event is not within its schedules (during)"
	case r.outside.contain(now):
		return "the event is within its schedules (outside)"
	case r.when == nil:
		return ""
	}
	value, err := r.when.evaluate(newRuleEnv(e, header))
	if err != nil {
		return "its expression cannot be evaluated: " + err.Error()
	}
	if truth, ok := value.(bool); !ok || !truth {
		return "its expression is false"
	}
	return ""
}

// apply changes an event that the rule matches.
func (r *compiledRule) apply(e *Event, header http.Header) {
	switch {
	case r.category != "":
		e.Category = r.category
	case r.categoryFrom != nil:
		if category := r.categoryFrom.text(newRuleEnv(e, header)); category != "" {
			e.Category = NormalizeCategory(category)
		}
	}
	if r.Set.Severity != "" {
		e.Severity = r.Set.Severity
	}
	if r.Set.Hold != nil {
		e.Hold = r.Set.Hold
	}
	switch r.Set.Status {
	case "":
	case noStatusWord:
		e.Status = NoStatus
	default:
		e.Status = r.Set.Status
	}
}
