package configs

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"slackrelay/events"
)

// RuleTest is a sample webhook and the result that the rules must have for its first event.
type RuleTest struct {
	// Name is the name of the test in errors.
	Name string `yaml:"name"`
	// Event is the body of the webhook, as JSON.
	Event string `yaml:"event"`
	// Source is the body format.
	Source string `yaml:"source,omitempty" unset:"found from the body"`
	// Header are the headers, each with a name and a value.
	Header []Header `yaml:"header,omitempty"`
	// At is the time when it arrives, for example 2026-11-20T22:00:00Z.
	At string `yaml:"at,omitempty" unset:"now"`
	// Want is the result.
	Want Want `yaml:"want"`
}

// Header is one header of a webhook.
type Header struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// Want is the result that rules must have. Empty fields are not compared.
type Want struct {
	// Rule is the name of the last rule that matched; none = no rule matches.
	Rule string `yaml:"rule,omitempty"`
	// Category is the category of the event afterwards.
	Category string `yaml:"category,omitempty"`
	// Severity is its severity.
	Severity string `yaml:"severity,omitempty"`
	// Status is its status.
	Status string `yaml:"status,omitempty"`
	// Channel is its channel.
	Channel string `yaml:"channel,omitempty"`
	// CopyTo are the channels that get copies of it.
	CopyTo []string `yaml:"copy_to,omitempty"`
	// Muted is whether it is muted.
	Muted *bool `yaml:"muted,omitempty"`
}

// runTests runs the tests of the rules. channelOf returns the channel of an event that a rule sends to a name.
func (c Channel) runTests(
	v validator, decoder *events.Decoder, rules *events.Rules, channelOf func(name string, e *events.Event) (channel, why string),
) {
	for i, test := range c.RuleTests {
		field := indexed("rule_tests", i)
		got, err := test.run(c.Name, decoder, rules, channelOf)
		if err != nil {
			v.fault(field, "test %q cannot be run: %v", test.Name, err)
			continue
		}
		for _, difference := range test.Want.differences(got) {
			v.fault(field, "test %q fails: %s", test.Name, difference)
		}
	}
}

func (t RuleTest) run(
	channel string, decoder *events.Decoder, rules *events.Rules, channelOf func(name string, e *events.Event) (channel, why string),
) (Want, error) {
	now := time.Now()
	if t.At != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, t.At); err != nil {
			return Want{}, fmt.Errorf("at: %q is not a time; use, for example, 2026-11-20T22:00:00Z", t.At)
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
	verdict.Channel, _ = channelOf(verdict.Channel, &e)
	for i, to := range verdict.Copies {
		verdict.Copies[i], _ = channelOf(to, &e)
	}
	last := noRule
	if n := len(verdict.Rules); n > 0 {
		last = verdict.Rules[n-1]
	}
	return Want{
		Rule: last, Category: e.Category, Severity: string(e.Severity), Status: string(e.Status),
		Channel: verdict.Channel, CopyTo: verdict.Copies, Muted: &verdict.Muted,
	}, nil
}

// differences lists the fields that are not as they are wanted.
func (w Want) differences(got Want) []string {
	var all []string
	for _, field := range []struct{ name, want, got string }{
		{"rule", w.Rule, got.Rule},
		{"category", w.Category, got.Category},
		{"severity", w.Severity, got.Severity},
		{"status", w.Status, got.Status},
		{"channel", w.Channel, got.Channel},
	} {
		if field.want != "" && field.want != field.got {
			all = append(all, fmt.Sprintf("%s is %q, not %q", field.name, field.got, field.want))
		}
	}
	if w.CopyTo != nil && !slices.Equal(w.CopyTo, got.CopyTo) {
		all = append(all, fmt.Sprintf("copy_to is %q, not %q", got.CopyTo, w.CopyTo))
	}
	if w.Muted != nil && *w.Muted != *got.Muted {
		all = append(all, fmt.Sprintf("muted is %t, not %t", *got.Muted, *w.Muted))
	}
	return all
}
