package configs

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"slackrelay/ratelimit"
)

// Vary returns the channel with other settings, written name=value,name=value. Settings within an object are written with a
// dot, first_notice.mode=auto, and lists as in YAML, reserves=[{category: disk, slots: 5}]. strategy sets the strategy of the
// channel and category levels; backlog is for the channel level only. Settings that do not change what a channel posts are
// refused. The error contains every fault.
func (c Channel) Vary(settings string) (Channel, error) {
	given := map[string]any{}
	strategy := ""
	for _, part := range splitOutside(settings, ',') {
		name, text, ok := strings.Cut(part, "=")
		if !ok {
			return c, fmt.Errorf("%q is not a setting with a value; use name=value", part)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return c, fmt.Errorf("%s: %q is not a YAML value", name, text)
		}
		if name == "strategy" {
			strategy = text
			continue
		}
		setInside(given, strings.Split(name, "."), value)
	}
	faults := c.faultsOfVariation(given)
	c.forgetLists(given)
	faults = append(faults, decode(given, &c, "")...)
	if strategy != "" {
		c.useStrategy(ratelimit.StrategyKind(strategy))
	}
	v := newValidator()
	v.bounds(reflect.ValueOf(c))
	c.validate(v)
	var all []error
	for _, fault := range append(faults, *v.faults...) {
		all = append(all, fault)
	}
	return c, errors.Join(all...)
}

// variedLists are the settings outside of channels that change what is posted of a channel.
type variedLists struct {
	Inhibitions []Inhibition `yaml:"inhibitions"`
	Heartbeats  []Heartbeat  `yaml:"heartbeats"`
}

// Vary returns a channel of the configuration with other settings, as [Channel.Vary] takes them, and the configuration with
// other inhibitions and heartbeats, where the settings have these: inhibitions=[] has none.
func (c Config) Vary(channel Channel, settings string) (Config, Channel, error) {
	var others []string
	given := map[string]any{}
	for _, part := range splitOutside(settings, ',') {
		name, text, _ := strings.Cut(part, "=")
		if name != "inhibitions" && name != "heartbeats" {
			others = append(others, part)
			continue
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return c, channel, fmt.Errorf("%s: %q is not a YAML value", name, text)
		}
		given[name] = value
	}
	c, err := c.withLists(given)
	if err != nil || len(others) == 0 {
		return c, channel, err
	}
	channel, err = channel.Vary(strings.Join(others, ","))
	return c, channel, err
}

// withLists returns the configuration with the lists that are given in place of its own.
func (c Config) withLists(given map[string]any) (Config, error) {
	var lists variedLists
	faults := decode(given, &lists, "")
	v := newValidator()
	v.bounds(reflect.ValueOf(lists))
	if _, ok := given["inhibitions"]; ok {
		c.Inhibitions = lists.Inhibitions
		c.validateInhibitions(v)
	}
	if _, ok := given["heartbeats"]; ok {
		c.Heartbeats = lists.Heartbeats
		c.validateHeartbeats(v)
	}
	var all []error
	for _, fault := range append(faults, *v.faults...) {
		all = append(all, fault)
	}
	return c, errors.Join(all...)
}

// splitOutside splits a text at a separator that is not inside brackets, braces or quotes.
func splitOutside(text string, separator rune) []string {
	var parts []string
	depth, start, quote := 0, 0, rune(0)
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth--
		case r == separator && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// setInside sets a value at a path of names.
func setInside(settings map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inside, ok := settings[name].(map[string]any)
		if !ok {
			inside = map[string]any{}
			settings[name] = inside
		}
		settings = inside
	}
	settings[path[len(path)-1]] = value
}

// notVaried are the settings of a channel that do not change what a simulation posts: there is one channel, Redis and Slack
// are always available, and a trace has no text and no credentials.
var notVaried = []string{
	"name", "slack_channel", "slack_token", "slack_token_file", "slack_api_url", "slack_webhook_url", "slack_webhook_url_file",
	"fallback_slack_channel", "fallback_webhook_url", "fallback_webhook_url_file", "on_redis_down", "limit_group", "on_unknown",
	"unknown", "drop_record", "remind_mention", "mentions", "allow_mentions", "template_title", "template_text",
	"ingress_token", "ingress_token_file", "auth", "allow_from", "on_drop", "rules", "rule_tests",
}

// faultsOfVariation finds settings that would change nothing.
func (c Channel) faultsOfVariation(given map[string]any) []*FieldError {
	var faults []*FieldError
	for _, name := range notVaried {
		if _, ok := given[name]; ok {
			faults = append(faults, faultf(name, "does not change what a simulation posts; remove it"))
		}
	}
	if _, ok := given["levels"]; ok {
		return faults
	}
	for _, level := range []struct{ name, limit, window string }{
		{ratelimit.LevelChannel, "global_limit", "global_window"},
		{ratelimit.LevelCategory, "category_limit", "category_window"},
	} {
		if !slices.ContainsFunc(c.Levels, func(l Level) bool { return l.Name == level.name }) {
			continue
		}
		for _, name := range []string{level.limit, level.window} {
			if _, ok := given[name]; ok {
				faults = append(faults, faultf(name, "has no effect, because levels replaces the level %s; set levels instead", level.name))
			}
		}
	}
	return faults
}

// forgetLists empties the lists that are given, which replace those of the channel.
func (c *Channel) forgetLists(given map[string]any) {
	value := reflect.ValueOf(c).Elem()
	for _, s := range settingsOf(value.Type()) {
		if _, ok := given[s.name]; ok && value.Field(s.index).Kind() == reflect.Slice {
			value.Field(s.index).SetZero()
		}
	}
}

// useStrategy replaces the strategy of the channel and category levels, and keeps their windows.
func (c *Channel) useStrategy(kind ratelimit.StrategyKind) {
	tiers := c.Tiers()[:2]
	if kind == ratelimit.Backlog {
		tiers = tiers[:1]
	}
	c.Levels = slices.Clone(c.Levels)
	for _, tier := range tiers {
		level := Level{Name: tier.Name, Strategy: string(kind), Shadow: tier.Shadow}
		for _, w := range tier.Windows {
			level.Windows = append(level.Windows, Window(w))
		}
		i := slices.IndexFunc(c.Levels, func(l Level) bool { return l.Name == tier.Name })
		if i < 0 {
			c.Levels = append(c.Levels, level)
		} else {
			c.Levels[i] = level
		}
	}
}
