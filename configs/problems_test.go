package configs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/problem"
)

// Each row is the settings of a channel, and the field, the value, the fault and the remedy that are reported.
func TestInvalidHoldsAndFlappingAreRefused(t *testing.T) {
	for settings, want := range map[string]string{
		"hold: -1s":                               "channels[0].hold: -1s is out of range; use 0s to 24h",
		"hold: 25h":                               "channels[0].hold: 25h is out of range; use 0s to 24h",
		"hold: 5":                                 "channels[0].hold: 5 is not a duration; use a unit, for example 5m",
		"hold: soon":                              "channels[0].hold: \"soon\" is not a duration; use a unit, for example 5m",
		"flapping: 6":                             "channels[0].flapping: is not an object",
		"flapping: {change: 6}":                   "channels[0].flapping.change: unknown setting; did you mean changes?",
		"flapping: {changes: 1}":                  "channels[0].flapping.changes: 1 is out of range; use 2 or more, or 0 to turn this off",
		"flapping: {changes: -1}":                 "channels[0].flapping.changes: -1 is out of range; use 0 to 100",
		"flapping: {changes: 101}":                "channels[0].flapping.changes: 101 is out of range; use 0 to 100",
		"flapping: {changes: 2.5}":                "channels[0].flapping.changes: 2.5 is not a whole number",
		"flapping: {changes: 2, within: 0s}":      "channels[0].flapping.within: 0s is out of range; use 1s to 24h",
		"flapping: {changes: 2, within: 25h}":     "channels[0].flapping.within: 25h is out of range; use 1s to 24h",
		"flapping: {changes: 2, stable: 100ms}":   "channels[0].flapping.stable: 100ms is out of range; use 1s to 24h",
		"flapping: {changes: 2, stable: 25h}":     "channels[0].flapping.stable: 25h is out of range; use 1s to 24h",
		"rules: [{name: r, set: {hold: -1m}}]":    "channels[0].rules[0].set.hold: -1m0s is out of range; use 0s to 24h",
		"rules: [{name: r, set: {hold: 1000h}}]":  "channels[0].rules[0].set.hold: 1000h0m0s is out of range; use 0s to 24h",
		"rules: [{name: r, set: {hold: a lot}}]":  "channels[0].rules[0].set.hold: \"a lot\" is not a duration; use a unit, for example 5m",
		"rules: [{name: r, set: {flapping: {}}}]": "channels[0].rules[0].set.flapping: unknown setting",
	} {
		t.Run(settings, func(t *testing.T) {
			bad(t, "channels:\n  - name: a\n    "+settings+"\n", nil, "relay.yaml:3: "+want)
		})
	}
	cfg := good(t, "channels: [{name: a, hold: 24h, flapping: {changes: 2, within: 1s, stable: 24h}}]")
	require.Equal(t, 24*time.Hour, cfg.Channels[0].Hold)
}

func TestInvalidInhibitionsAreRefused(t *testing.T) {
	const rest = ", source: [{field: category, is: a}], target: [{field: category, is: b}]"
	for inhibition, want := range map[string]string{
		"{name: ''" + rest + "}":                          "[0].name: is empty; receipts name the inhibition that muted an event",
		"{name: n" + rest + "}, {name: n" + rest + "}":    "[1].name: \"n\" is the name of another inhibition; use each name once",
		"{name: n, target: [{field: category, is: b}]}":   "[0].source: is empty; add one or more matchers, or every event would match",
		"{name: n, source: [{field: category, is: a}]}":   "[0].target: is empty; add one or more matchers, or every event would match",
		"{name: n" + rest + ", source_ttl: 1s}":           "[0].source_ttl: 1s is out of range; use 1m to 744h, or 0s",
		"{name: n" + rest + ", release_after: 48h}":       "[0].release_after: 48h is out of range; use 1s to 24h, or 0s",
		"{name: n" + rest + ", equal: node}":              "[0].equal: is not a list",
		"{name: n" + rest + ", equals: [node]}":           "[0].equals: unknown setting; did you mean equal?",
		"{name: n, source: [{field: colour, is: a}]}":     "[0].source[0]: field \"colour\" is unknown; use one of category, channel",
		"{name: n, source: [{is: a}]}":                    "[0].source[0]: field \"\" is unknown; use one of category, channel",
		"{name: n, source: [{field: category}]}":          "[0].source[0]: field \"category\" needs one of is, in and matches; set exactly one",
		"{name: n, source: [{field: title, matches: (}]}": "[0].source[0]: field \"title\": matches is not a valid regular expression: ",
	} {
		t.Run(inhibition, func(t *testing.T) {
			bad(t, "inhibitions: ["+inhibition+"]\nchannels: [{name: a}]\n", nil, "relay.yaml:1: inhibitions"+want)
		})
	}
	cfg := good(t, "inhibitions: [{name: n"+rest+"}]\nchannels: [{name: a}]")
	all := cfg.CompiledInhibitions()
	require.Len(t, all, 1)
	want := problem.Inhibition{Name: "n", Source: all[0].Source, Target: all[0].Target, SourceTTL: 24 * time.Hour, ReleaseAfter: time.Minute}
	require.Equal(t, want, all[0].Inhibition)
}
