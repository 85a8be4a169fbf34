package configs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

func TestFaultsOfTemplates(t *testing.T) {
	bad(t, `channels:
  - {name: alerts, values: x, slack_channel: "#{{team}}"}
  - {name: "team-{{team}}"}
  - {name: "env-{{env}}", fallback: nobody, values: "[", max_channels: 20000, slack_channel: "#{{team}}", forget_after: 1h}
  - {name: "app-{{app}}", fallback: "env-{{env}}", ingress_token: "0123456789abcdef", forget_after: 24h, rules: [{name: r, mute: true}]}
  - {name: "x{{a b}}", fallback: alerts}
  - {name: "{{a}}-{{b}}", fallback: alerts}
`, nil,
		"relay.yaml:2: channels[0].values: is a setting of templates; remove it, or put a placeholder in name, for example team-{{team}}",
		`relay.yaml:2: channels[0].slack_channel: "#{{team}}" has a placeholder, but name has none; put the same one in name`,
		"relay.yaml:3: channels[1].fallback: is empty; name the channel that gets the events",
		`channels[2].fallback: "nobody" is not a channel; use the name of one`,
		`channels[2].values: "[" is not a regular expression: error parsing regexp: missing closing ]:`,
		"channels[2].max_channels: 20000 is out of range; use 1 to 10000, or 0",
		`channels[2].slack_channel: "#{{team}}" has another placeholder than name; use {{env}}, once`,
		"channels[2].forget_after: 1h is out of range; use 2h to 8784h, or 0s",
		"channels[2].forget_after: 1h is less than remember_posted",
		`channels[3].fallback: "env-{{env}}" is a template; use a channel without a placeholder`,
		"channels[3].ingress_token: is not possible in a template, to which nobody posts; set it in the channels whose rules",
		"channels[3].rules: is not possible in a template",
		"channels[3].forget_after: 24h is less than remember_posted, 72h, which would be forgotten too early; use 72h or more",
		`channels[4].name: "x{{a b}}" is not a valid name;`,
		`channels[5].name: "{{a}}-{{b}}" is not a valid name;`)
	bad(t, `channels: [{name: "team-{{team}}", fallback: x}]`, nil,
		`channels[0].fallback: "x" is not a channel`, "channels: has templates only; add a channel that webhooks are posted to")
}

// templates is a configuration with a template that stands first.
const templates = `channels:
  - {name: "team-{{team}}", fallback: alerts, slack_channel: "#team-{{team}}-alerts", global_limit: 7}
  - name: alerts
    rules: [{name: teams, set: {channel: "team-{{team}}"}, copy_to: ["team-{{team}}"]}]
    rule_tests:
      - {name: a team, event: '{"title": "x", "labels": {"team": "Data Base"}}', want: {rule: teams, channel: team-data-base}}
      - {name: no team, event: '{"title": "x"}', want: {channel: alerts}}
`

func TestTemplateMakesChannelsOfValues(t *testing.T) {
	cfg := good(t, templates)
	require.Equal(t, "alerts", cfg.FirstChannel())
	require.Len(t, cfg.ServerChannels(), 1, "nobody posts to a template")
	for value, want := range map[string][2]string{
		"a": {"team-a", ""}, "Data  Base!": {"team-data-base", ""}, "": {"alerts", "value"}, "ÄÖ": {"alerts", "value"},
		"a-very-long-name-of-a-team-with-more-than-40-characters": {"alerts", "value"},
	} {
		channel, why := cfg.ChannelOf("team-{{team}}", &events.Event{Labels: map[string]string{"team": value}})
		require.Equal(t, want, [2]string{channel, why}, value)
	}
	channel, why := cfg.ChannelOf("team-{{team}}", &events.Event{Annotations: map[string]string{"team": "noted"}})
	require.Equal(t, [2]string{"team-noted", ""}, [2]string{channel, why}, "an annotation stands in for a label")
	_, why = cfg.ChannelOf("team-{{team}}", &events.Event{})
	require.Equal(t, "no_value", why)

	made, ok := cfg.Channel("team-a")
	require.True(t, ok)
	require.Equal(t, "#team-a-alerts", made.SlackChannel)
	require.Equal(t, int64(7), made.GlobalLimit)
	_, ok = cfg.Channel("team-Not A Name")
	require.False(t, ok)
}

func TestTemplatesStayWhereAVariableNamesTheChannels(t *testing.T) {
	cfg := good(t, templates, "RELAY_CHANNELS=alerts")
	_, ok := cfg.Channel("team-a")
	require.True(t, ok)
}

// What does not depend on a value can be checked before there is one.
func TestDestinationsOfTemplatesWithoutAPlaceholderAreKnown(t *testing.T) {
	cfg := good(t, `
slack_token: xoxb-1-2-3
channels:
  - {name: a, slack_channel: C1}
  - {name: "x-{{team}}", slack_channel: C2, fallback: a}
  - {name: "y-{{team}}", slack_channel: "#y-{{team}}", fallback: a}
`)
	var all []string
	for _, d := range cfg.Destinations() {
		all = append(all, d.SlackChannel)
	}
	require.Equal(t, []string{"C1", "C2"}, all)
}
