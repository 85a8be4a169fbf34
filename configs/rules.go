package configs

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	yamlv2 "gopkg.in/yaml.v2" // what timeinterval is read with

	"slackrelay/events"
)

// Rule classifies the events of a channel; see [events.Rule].
type Rule struct {
	// Name is what receipts and explanations call it.
	Name string `yaml:"name"`
	// Match are conditions that must all hold: a field, and one of is, in and matches; not turns it round (none).
	Match []events.Matcher `yaml:"match,omitempty"`
	// When is an expression that must be true (always).
	When string `yaml:"when,omitempty"`
	// During and Outside name schedules: the rule is for what arrives then, or not then (always).
	During  []string `yaml:"during,omitempty"`
	Outside []string `yaml:"outside,omitempty"`
	// Set is what it makes of an event (nothing).
	Set Changes `yaml:"set,omitempty"`
	// Mute counts the event as muted, and sends it nowhere (false).
	Mute bool `yaml:"mute,omitempty"`
	// Continue looks at the next rules too (false).
	Continue bool `yaml:"continue,omitempty"`
}

// Changes are what a rule makes of an event.
type Changes struct {
	// Category is the category; CategoryFrom an expression for it.
	Category     string `yaml:"category,omitempty"`
	CategoryFrom string `yaml:"category_from,omitempty"`
	// Severity is critical, error, warning or info.
	Severity string `yaml:"severity,omitempty"`
	// Status is firing, resolved or none.
	Status string `yaml:"status,omitempty"`
	// Channel is where it goes.
	Channel string `yaml:"channel,omitempty"`
}

// RuleTest is a webhook and what the rules must make of its first event. What Want leaves empty is not looked at.
type RuleTest struct {
	// Name is what a fault calls it.
	Name string `yaml:"name"`
	// Event is the body of a webhook, as JSON.
	Event string `yaml:"event"`
	// Source is its source (found).
	Source string `yaml:"source,omitempty"`
	// Header are its headers, each with a name and a value (none).
	Header []Header `yaml:"header,omitempty"`
	// At is when it arrives, RFC 3339 (now).
	At string `yaml:"at,omitempty"`
	// Want is what the rules must make of its first event.
	Want Want `yaml:"want"`
}

// Header is one header of a webhook.
type Header struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// Want is what rules must make of an event.
type Want struct {
	// Rule is the last rule that matched; none = no rule.
	Rule string `yaml:"rule,omitempty"`
	// Category and the others are those of the event afterwards.
	Category string `yaml:"category,omitempty"`
	Severity string `yaml:"severity,omitempty"`
	Status   string `yaml:"status,omitempty"`
	Channel  string `yaml:"channel,omitempty"`
	Muted    *bool  `yaml:"muted,omitempty"`
}

// Schedule names times of the week and of the year, in the form of Alertmanager's time_intervals
// (https://prometheus.io/docs/alerting/latest/configuration/#time_interval).
type Schedule struct {
	// Name is what rules call it.
	Name string `yaml:"name"`
	// TimeIntervals are as Alertmanager has them; it is time in any of them.
	TimeIntervals []map[string]any `yaml:"time_intervals"`
}

// Source says where the fields of an event stand in the bodies of a sender that the relay does not know; see
// [events.Mapping].
type Source struct {
	// Name is that of the source, as in /hooks/{channel}/{name}.
	Name string `yaml:"name"`
	// When is true for a body of this source (only when it is named).
	When string `yaml:"when,omitempty"`
	// Events is a list, each item of which is an event (the body is one).
	Events string `yaml:"events,omitempty"`
	// Category and the others are the fields of the event.
	Category    string `yaml:"category,omitempty"`
	Severity    string `yaml:"severity,omitempty"`
	Status      string `yaml:"status,omitempty"`
	Title       string `yaml:"title,omitempty"`
	Text        string `yaml:"text,omitempty"`
	Link        string `yaml:"link,omitempty"`
	ID          string `yaml:"id,omitempty"`
	Fingerprint string `yaml:"fingerprint,omitempty"`
	StartedAt   string `yaml:"started_at,omitempty"`
	// Labels are labels, each with a name and a value, which is an expression.
	Labels []SourceLabel `yaml:"labels,omitempty"`
}

// SourceLabel is a label and the expression for its value.
type SourceLabel struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// noRule is what a test wants where no rule may match.
const noRule = "none"

// Decoder reads bodies, with the sources of the configuration among those that the relay knows.
func (c *Config) Decoder() (*events.Decoder, error) {
	opts := events.Options{Limits: c.limits()}
	for _, s := range c.Sources {
		m := events.Mapping{
			Name: s.Name, When: s.When, Events: s.Events, Category: s.Category, Severity: s.Severity, Status: s.Status, Title: s.Title,
			Text: s.Text, Link: s.Link, ID: s.ID, Fingerprint: s.Fingerprint, StartedAt: s.StartedAt,
		}
		for _, label := range s.Labels {
			m.Labels = append(m.Labels, events.MappedLabel(label))
		}
		opts.Mappings = append(opts.Mappings, m)
	}
	decoder, err := events.NewDecoder(opts)
	if err != nil {
		return nil, fmt.Errorf("sources: %w", err)
	}
	return decoder, nil
}

// schedules compiles the schedules.
func (c *Config) schedules() ([]events.Schedule, error) {
	var all []events.Schedule
	for i, s := range c.Schedules {
		where := fmt.Sprintf("schedules[%d] (%s)", i, s.Name)
		if s.Name == "" || len(s.TimeIntervals) == 0 {
			return nil, faultf(where, "needs a name and time_intervals")
		}
		if slices.ContainsFunc(all, func(other events.Schedule) bool { return other.Name == s.Name }) {
			return nil, faultf(where, "has the name of another schedule")
		}
		text, err := yaml.Marshal(s.TimeIntervals)
		if err != nil {
			return nil, faultf(where+".time_intervals", "cannot be read: %v", err)
		}
		compiled := events.Schedule{Name: s.Name}
		if err := yamlv2.UnmarshalStrict(text, &compiled.Intervals); err != nil {
			return nil, faultf(where+".time_intervals", "cannot be read: %s", strings.ReplaceAll(err.Error(), "\n", " "))
		}
		all = append(all, compiled)
	}
	return all, nil
}

// rules compiles the rules of a channel; nil where it has none.
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

// Rules are the compiled rules of a channel of a valid configuration; nil where it has none.
func (c *Config) Rules(ch Channel) *events.Rules {
	schedules, _ := c.schedules() // validated before
	rules, _ := ch.rules(schedules)
	return rules
}

// validateClassification compiles sources, schedules and rules, and runs the tests beside the rules.
func (c *Config) validateClassification(v *validator) {
	decoder, err := c.Decoder()
	if err != nil {
		v.faults = append(v.faults, err)
		decoder, _ = (&Config{}).Decoder()
	}
	schedules, err := c.schedules()
	if err != nil {
		v.faults = append(v.faults, err)
		return // rules that name it would be found wrong too
	}
	for i, ch := range c.Channels {
		in := &validator{where: fmt.Sprintf("channels[%d] (%s).", i, ch.Name)}
		ch.validateIngress(in, c, decoder.Sources())
		ch.validateRules(in, c)
		rules, err := ch.rules(schedules)
		if err != nil {
			in.faults = append(in.faults, errors.New(in.where+err.Error()))
		} else {
			ch.runTests(in, decoder, rules)
		}
		v.faults = append(v.faults, in.faults...)
	}
}

func (c Channel) validateRules(v *validator, cfg *Config) {
	names := map[string]bool{noRule: true}
	for i, rule := range c.Rules {
		where := fmt.Sprintf("rules[%d] (%s).", i, rule.Name)
		if rule.Name == "" || names[rule.Name] {
			v.fault(where+"name", "must be there, once: receipts say by it which rule decided; \"none\" is taken")
		}
		names[rule.Name] = true
		to := rule.Set.Channel
		if to != "" && !slices.ContainsFunc(cfg.Channels, func(ch Channel) bool { return ch.Name == to }) {
			v.fault(where+"set.channel", "is %q, which is no channel", to)
		}
	}
}

// runTests runs the tests beside the rules.
func (c Channel) runTests(v *validator, decoder *events.Decoder, rules *events.Rules) {
	for i, test := range c.RuleTests {
		where := fmt.Sprintf("rule_tests[%d] (%s)", i, test.Name)
		got, err := test.run(c.Name, decoder, rules)
		if err != nil {
			v.fault(where, "cannot be run: %v", err)
			continue
		}
		for _, wrong := range test.Want.differs(got) {
			v.fault(where, "fails: %s", wrong)
		}
	}
}

func (t RuleTest) run(channel string, decoder *events.Decoder, rules *events.Rules) (Want, error) {
	now := time.Now()
	if t.At != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, t.At); err != nil {
			return Want{}, fmt.Errorf("at is %q; write a time like 2026-11-20T22:00:00Z", t.At)
		}
	}
	header := http.Header{}
	for _, h := range t.Header {
		header.Set(h.Name, h.Value)
	}
	all, err := decoder.Decode(events.Webhook{Source: t.Source, Header: header, Body: []byte(t.Event)})
	if err != nil {
		return Want{}, fmt.Errorf("event: %w", err)
	}
	e := all[0]
	e.Channel = channel
	verdict := rules.Apply(&e, header, now)
	last := noRule
	if n := len(verdict.Rules); n > 0 {
		last = verdict.Rules[n-1]
	}
	return Want{Rule: last, Category: e.Category, Severity: string(e.Severity), Status: string(e.Status), Channel: verdict.Channel, Muted: &verdict.Muted}, nil
}

// differs says what is not as it is wanted.
func (w Want) differs(got Want) []string {
	var wrong []string
	for _, field := range []struct{ name, want, got string }{
		{"rule", w.Rule, got.Rule},
		{"category", w.Category, got.Category},
		{"severity", w.Severity, got.Severity},
		{"status", w.Status, got.Status},
		{"channel", w.Channel, got.Channel},
	} {
		if field.want != "" && field.want != field.got {
			wrong = append(wrong, fmt.Sprintf("%s is %q, not %q", field.name, field.got, field.want))
		}
	}
	if w.Muted != nil && *w.Muted != *got.Muted {
		wrong = append(wrong, fmt.Sprintf("muted is %t, not %t", *got.Muted, *w.Muted))
	}
	return wrong
}
