package configs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

func TestRulesAreCompiledAndTested(t *testing.T) {
	text := `
schedules:
  - name: office
    time_intervals: [{weekdays: ["monday:friday"], times: [{start_time: "08:00", end_time: "18:00"}], location: Europe/Berlin}]
sources:
  - {name: backups, when: 'body.tool == "borg"', title: body.repo, severity: 'body.ok ? "info" : "error"',
     labels: [{name: Host.Name, value: body.host}]}
channels:
  - name: a
    rules:
      - {name: nights, match: [{field: severity, is: info}], outside: [office], mute: true}
      - {name: team, match: [{field: label.Team, in: [DBA, Storage]}], set: {category: Databases, channel: b}}
    rule_tests:
      - {name: by night, event: '{"title":"x","severity":"info"}', at: "2026-11-20T22:00:00Z", want: {rule: nights, muted: true}}
      - {name: by day, event: '{"title":"x","severity":"info"}', at: "2026-11-20T12:00:00Z", want: {rule: none, muted: false}}
      - {name: team, event: '{"title":"x","labels":{"Team":"DBA"}}', want: {category: databases, channel: b}}
      - {name: backup, event: '{"tool":"borg","repo":"db","ok":false,"host":"h1"}', want: {severity: error}}
  - name: b
`
	cfg := good(t, text)
	decoder, err := cfg.Decoder()
	require.NoError(t, err)
	all, err := decoder.Decode(events.Webhook{Body: []byte(`{"tool":"borg","repo":"db","ok":true,"host":"h1"}`)})
	require.NoError(t, err)
	require.Equal(t, "backups", all[0].Source)
	require.Equal(t, "db", all[0].Title)
	require.Equal(t, events.Info, all[0].Severity)
	require.Equal(t, map[string]string{"Host.Name": "h1"}, all[0].Labels, "labels keep their case")
	require.Nil(t, cfg.Rules(cfg.Channels[1]))
}

func TestInvalidRulesAreRefused(t *testing.T) {
	bad(t, `
schedules:
  - {name: office, time_intervals: [{weekdays: [caturday]}]}
channels: [{name: a}]
`, nil, "relay.yaml:3: schedules[0].time_intervals: cannot be read: ")
	bad(t, `
schedules: [{name: x, time_intervals: [{}]}, {name: x, time_intervals: [{}]}]
channels: [{name: a}]
`, nil, `schedules[1].name: "x" is the name of another schedule`)
	bad(t, `
sources: [{name: mine, title: 'body.'}]
channels: [{name: a}]
`, nil, "relay.yaml:2: sources[0].title: ")
	bad(t, `
channels:
  - name: a
    rules:
      - {name: r, match: [{field: title, is: x}], set: {channel: nowhere}}
      - {name: r, match: [{field: title, is: x}]}
      - {match: [{field: title, is: x}]}
    rule_tests:
      - {name: t1, event: '{"title":"x"}', want: {rule: none, category: disk, muted: true}}
      - {name: t2, event: '{"non": sense', want: {rule: r}}
      - {name: t3, event: '{"title":"x"}', at: noon, want: {rule: r}}
  - {name: b, rules: [{name: r, when: "severity =="}]}
  - {name: c, rules: [{name: r, during: [office]}]}
  - {name: d, rules: [{name: r, match: [{field: title, is: a, in: [b]}]}]}
  - {name: e, rules: [{name: r, match: [{field: title, is: true}]}]}
  - {name: f, rules: [{name: r, copy_to: [a, nowhere], mute: true}]}
  - {name: g, rules: [{name: r, copy_to: [a]}], rule_tests: [{name: t4, event: '{"title":"x"}', want: {copy_to: [b]}}]}
`, nil,
		`relay.yaml:5: channels[0].rules[0].set.channel: "nowhere" is not a channel`,
		`relay.yaml:6: channels[0].rules[1].name: "r" is the name of another rule`,
		"relay.yaml:7: channels[0].rules[2].name: is empty; receipts name the rule that decided",
		`relay.yaml:9: channels[0].rule_tests[0]: test "t1" fails: rule is "r", not "none"`,
		`relay.yaml:9: channels[0].rule_tests[0]: test "t1" fails: category is "uncategorized", not "disk"`,
		`relay.yaml:9: channels[0].rule_tests[0]: test "t1" fails: muted is false, not true`,
		`relay.yaml:10: channels[0].rule_tests[1]: test "t2" cannot be run: event: `,
		`relay.yaml:11: channels[0].rule_tests[2]: test "t3" cannot be run: at: "noon" is not a time`,
		"relay.yaml:12: channels[1].rules[0].when: ",
		`relay.yaml:13: channels[2].rules[0].during: schedule "office" does not exist`,
		`relay.yaml:14: channels[3].rules[0].match[0]: field "title" needs one of is, in and matches`,
		"relay.yaml:15: channels[4].rules[0].match[0].is: true is not text",
		`relay.yaml:15: channels[4].rules[0].match[0]: field "title" needs one of`,
		`relay.yaml:16: channels[5].rules[0].copy_to: "nowhere" is not a channel`,
		`relay.yaml:16: channels[5].rules[0].copy_to: cannot be combined with mute`,
		`relay.yaml:17: channels[6].rule_tests[0]: test "t4" fails: copy_to is ["a"], not ["b"]`)
}
