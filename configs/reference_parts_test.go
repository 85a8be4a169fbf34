package configs

import (
	"reflect"

	"slackrelay/events"
)

// part is an option struct in the reference.
type part struct {
	title  string
	of     reflect.Type
	prefix string // of its variables; empty = it has none
	intro  string
}

var parts = []part{
	{"The relay", reflect.TypeFor[Config](), prefix, "Set these at the top level of the file, or by variables."},
	{
		"A channel", reflect.TypeFor[Channel](), prefix + "CHANNEL_<NAME>_",
		"Set these in an entry of `channels`, or by variables. Changes need no restart.",
	},
	{"A level", reflect.TypeFor[Level](), "", "An entry of a channel's `levels`. [strategies.md](strategies.md) compares the strategies."},
	{"A window", reflect.TypeFor[Window](), "", "An entry of a level's `windows`."},
	{"First notices", reflect.TypeFor[FirstNotice](), "", "The `first_notice` of a channel."},
	{"A reserve", reflect.TypeFor[Reserve](), "", "An entry of a channel's `reserves`."},
	{"Flapping", reflect.TypeFor[Flapping](), "", "The `flapping` of a channel. [problems.md](problems.md) explains it."},
	{"An inhibition", reflect.TypeFor[Inhibition](), "", "An entry of `inhibitions`. [problems.md](problems.md) explains them."},
	{"Headroom", reflect.TypeFor[Headroom](), "", "An entry of a channel's `headroom`."},
	{
		"A credential", reflect.TypeFor[Credential](), "",
		"An entry of a channel's `auth`. [sources.md](sources.md) lists what each sender needs.",
	},
	{"An answer to dropped events", reflect.TypeFor[OnDrop](), "", "An entry of a channel's `on_drop`."},
	{"A rule", reflect.TypeFor[events.Rule](), "", "An entry of a channel's `rules`. [rules.md](rules.md) explains them."},
	{"Changes of a rule", reflect.TypeFor[events.Changes](), "", "The `set` of a rule."},
	{"A test of rules", reflect.TypeFor[RuleTest](), "", "An entry of a channel's `rule_tests`."},
	{"The result of a test", reflect.TypeFor[Want](), "", "The `want` of a test. Fields that are empty are not compared."},
	{"A schedule", reflect.TypeFor[Schedule](), "", "An entry of `schedules`."},
	{
		"A heartbeat", reflect.TypeFor[Heartbeat](), "",
		"An entry of `heartbeats`. [heartbeats.md](heartbeats.md) explains them.",
	},
	{
		"A source of your own", reflect.TypeFor[events.Mapping](), "",
		"An entry of `sources`. All fields but `name` are expressions; see [sources.md](sources.md).",
	},
	{"A mention", reflect.TypeFor[Mention](), "", "An entry of a channel's `mentions`."},
	{"An unknown result", reflect.TypeFor[Unknown](), "", "An entry of a channel's `unknown`."},
}
