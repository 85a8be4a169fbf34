package events

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/expr-lang/expr"
	"github.com/prometheus/alertmanager/timeinterval"
)

// Rule classifies events: it may change an event, send it to another channel, or mute it.
type Rule struct {
	Name  string
	Match []Matcher // all must hold
	// When is an expression that must be true too, over [Fields], links, labels and header("Name")
	// (https://expr-lang.org/docs/language-definition). "" = always.
	When string
	// During and Outside name schedules: the rule is for events that arrive then, or not then.
	During, Outside []string
	Set             Changes
	Mute            bool // the event is counted as muted, and goes nowhere
	Continue        bool // look at the next rules too, although this one matched
}

// Changes are what a rule makes of an event. Empty = it stays as it is.
type Changes struct {
	Category string
	// CategoryFrom is an expression whose text is the category.
	CategoryFrom string
	Severity     Severity
	Status       Status // "none" takes it away
	Channel      string // where it goes
}

// noStatusWord takes the status of an event away.
const noStatusWord = "none"

// Schedule is when a rule is for events: in any of its intervals.
type Schedule struct {
	Name      string
	Intervals []timeinterval.TimeInterval
}

// Rules classify the events of a channel, in their order; the first that matches decides, unless it says to continue.
type Rules struct {
	rules []compiledRule
}

type compiledRule struct {
	Rule
	match              []CompiledMatcher
	when, categoryFrom *expression
	during, outside    []timeinterval.TimeInterval
}

// ruleEnv is what expressions of rules see. Its fields are checked when they are compiled.
type ruleEnv struct {
	ID          string              `expr:"id"`
	Source      string              `expr:"source"`
	Sender      string              `expr:"sender"`
	Channel     string              `expr:"channel"`
	Category    string              `expr:"category"`
	Severity    string              `expr:"severity"`
	Status      string              `expr:"status"`
	Title       string              `expr:"title"`
	Text        string              `expr:"text"`
	Note        string              `expr:"note"`
	Fingerprint string              `expr:"fingerprint"`
	Links       []string            `expr:"links"`
	Labels      map[string]string   `expr:"labels"`
	Header      func(string) string `expr:"header"`
}

func environment(e *Event, header http.Header) ruleEnv {
	env := ruleEnv{
		ID: e.ID, Source: e.Source, Sender: e.Sender, Channel: e.Channel, Category: e.Category, Severity: string(e.Severity), Status: string(e.Status),
		Title: e.Title, Text: e.Text, Note: e.Note, Fingerprint: e.Fingerprint, Labels: e.Labels, Header: header.Get,
	}
	for _, link := range e.Links {
		env.Links = append(env.Links, link.URL)
	}
	return env
}

// NewRules compiles rules. The error names the rule and what is wrong with it.
func NewRules(rules []Rule, schedules []Schedule) (*Rules, error) {
	all := &Rules{}
	for i, rule := range rules {
		compiled, err := rule.compile(schedules)
		if err != nil {
			return nil, fmt.Errorf("rules[%d] (%s): %w", i, rule.Name, err)
		}
		all.rules = append(all.rules, compiled)
	}
	return all, nil
}

func (r Rule) compile(schedules []Schedule) (compiledRule, error) {
	c := compiledRule{Rule: r}
	for i, m := range r.Match {
		compiled, err := m.Compile()
		if err != nil {
			return c, fmt.Errorf("match[%d]: %w", i, err)
		}
		c.match = append(c.match, compiled)
	}
	var err error
	if c.when, err = compileRule(r.When, expr.AsBool()); err != nil {
		return c, fmt.Errorf("when: %w", err)
	}
	if c.categoryFrom, err = compileRule(r.Set.CategoryFrom); err != nil {
		return c, fmt.Errorf("set.category_from: %w", err)
	}
	if c.during, err = intervals(r.During, schedules); err != nil {
		return c, fmt.Errorf("during: %w", err)
	}
	if c.outside, err = intervals(r.Outside, schedules); err != nil {
		return c, fmt.Errorf("outside: %w", err)
	}
	return c, r.Set.check()
}

func compileRule(code string, options ...expr.Option) (*expression, error) {
	if code == "" {
		return nil, nil //nolint:nilnil // documented: there is none
	}
	return compileExpression(code, append(options, expr.Env(ruleEnv{}))...)
}

func (c Changes) check() error {
	switch {
	case c.Severity != "" && severities[string(c.Severity)] != c.Severity:
		return fmt.Errorf("set.severity is %q; it must be critical, error, warning or info", c.Severity)
	case c.Status != "" && c.Status != Firing && c.Status != Resolved && c.Status != noStatusWord:
		return fmt.Errorf("set.status is %q; it must be firing, resolved or none", c.Status)
	case c.Category != "" && c.CategoryFrom != "":
		return fmt.Errorf("set.category and set.category_from are both given; keep one")
	default:
		return nil
	}
}

func intervals(names []string, schedules []Schedule) ([]timeinterval.TimeInterval, error) {
	var all []timeinterval.TimeInterval
	for _, name := range names {
		i := slices.IndexFunc(schedules, func(s Schedule) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no schedule %q", name)
		}
		all = append(all, schedules[i].Intervals...)
	}
	return all, nil
}

// Verdict is what rules made of an event, beside the event itself.
type Verdict struct {
	Rules   []string `json:"rules"` // the names of those that matched, in order
	Channel string   `json:"channel"`
	Muted   bool     `json:"muted"`
	Steps   []Step   `json:"steps,omitempty"` // of each rule that was looked at; only where that was asked for
}

// Step says why a rule matched, or did not.
type Step struct {
	Rule    string `json:"rule"`
	Matched bool   `json:"matched"`
	Why     string `json:"why"`
}

// Apply classifies an event that was decoded from a webhook with these headers and arrived now.
func (r *Rules) Apply(e *Event, header http.Header, now time.Time) Verdict {
	return r.apply(e, header, now, false)
}

// Explain does the same, and says why.
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
		why := rule.refuses(e, header, now, explain)
		if explain {
			v.Steps = append(v.Steps, Step{Rule: rule.Name, Matched: why == "", Why: rule.said(why)})
		}
		if why != "" {
			continue
		}
		v.Rules = append(v.Rules, rule.Name)
		rule.change(e, header)
		if rule.Set.Channel != "" {
			v.Channel = rule.Set.Channel
		}
		v.Muted = v.Muted || rule.Mute
		if !rule.Continue {
			break
		}
	}
	return v
}

// refuses says why a rule does not match; "" = it does. The words are made only where they are asked for.
func (r *compiledRule) refuses(e *Event, header http.Header, now time.Time, explain bool) string {
	for _, m := range r.match {
		switch {
		case m.Holds(e, header):
		case !explain:
			return "no"
		default:
			return fmt.Sprintf("%s does not hold: it is %q", m.Matcher, cut(m.value(e, header), maxPath))
		}
	}
	switch {
	case r.during != nil && !within(r.during, now):
		return "it is for another time"
	case r.outside != nil && within(r.outside, now):
		return "it is not for this time"
	case r.when == nil:
		return ""
	}
	value, err := r.when.evaluate(environment(e, header))
	if err != nil {
		return "its expression cannot be evaluated: " + err.Error()
	}
	if truth, ok := value.(bool); !ok || !truth {
		return "its expression is false"
	}
	return ""
}

func (r *compiledRule) said(why string) string {
	if why == "" {
		return "all its conditions hold"
	}
	return why
}

func within(all []timeinterval.TimeInterval, now time.Time) bool {
	return slices.ContainsFunc(all, func(i timeinterval.TimeInterval) bool { return i.ContainsTime(now) })
}

func (r *compiledRule) change(e *Event, header http.Header) {
	switch {
	case r.Set.Category != "":
		e.Category = NormalizeCategory(r.Set.Category)
	case r.categoryFrom != nil:
		if category := r.categoryFrom.text(environment(e, header)); category != "" {
			e.Category = NormalizeCategory(category)
		}
	}
	if r.Set.Severity != "" {
		e.Severity = r.Set.Severity
	}
	switch r.Set.Status {
	case "":
	case noStatusWord:
		e.Status = NoStatus
	default:
		e.Status = r.Set.Status
	}
}
