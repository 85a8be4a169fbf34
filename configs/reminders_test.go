package configs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
)

func TestRemindersOfAChannel(t *testing.T) {
	cfg := good(t, `
slack_token: xoxb-1
channels:
  - {name: a, slack_channel: C0A, remind_after: 30m, remind_every: 2h, remind_mention: S0ONCALL, remind_severity: error}
  - {name: b, slack_webhook_url: "https://hooks/x", remind_after: 30m}
  - {name: c, slack_channel: C0C, remind_after: 30m, remind_in: channel, remind_mention: here}
  - {name: d, slack_channel: C0D}
`)
	channels := cfg.PipelineChannels(nil)
	all := []events.Severity{events.Critical, events.Error, events.Warning, events.Info}
	require.Equal(t, pipeline.Remind{
		Reminders: problem.Reminders{After: 30 * time.Minute, Every: 2 * time.Hour}, InThread: true, Severities: all[:2],
	}, channels[0].Remind)
	require.Equal(t, "<!subteam^S0ONCALL>", channels[0].Renderer.ReminderMention)
	require.Equal(t, pipeline.Remind{Reminders: problem.Reminders{After: 30 * time.Minute}, Severities: all}, channels[1].Remind)
	require.False(t, channels[2].Remind.InThread)
	require.Equal(t, "<!here>", channels[2].Renderer.ReminderMention)
	require.Equal(t, pipeline.Remind{}, channels[3].Remind)
}

func TestInvalidRemindersAreRefused(t *testing.T) {
	bad(t, `
slack_token: xoxb-1
channels:
  - {name: a, slack_channel: C0A, remind_after: 30ms, remind_every: 1ms, remind_mention: "<!channel>"}
  - {name: b, slack_webhook_url: "https://hooks/x", remind_after: 30m, remind_in: thread}
  - {name: c, slack_channel: C0C, remind_every: 1h, remind_mention: here}
  - {name: d, slack_channel: C0D, remind_after: 2h, remind_every: 3h, remember_posted: 2h}
  - {name: e, slack_channel: C0E, remind_after: 1000h, remember_posted: 700h, remind_in: dm, remind_severity: bad}
  - {name: f, slack_channel: C0F, remind_after: 30m, remind_mention: oncall}
`, nil,
		"relay.yaml:4: channels[0].remind_after: 30ms is out of range; use 1s to 168h, or 0s",
		"relay.yaml:4: channels[0].remind_every: 1ms is out of range; use 1s to 168h, or 0s",
		`relay.yaml:4: channels[0].remind_mention: "<!channel>" cannot be mentioned; use here, channel, everyone, or the id of a user`,
		`relay.yaml:5: channels[1].remind_in: "thread" needs the bot token`,
		"relay.yaml:6: channels[2].remind_every: has no effect without remind_after; set remind_after, for example to 30m, or remove it",
		"relay.yaml:6: channels[2].remind_mention: has no effect without remind_after",
		"relay.yaml:7: channels[3].remind_after: 2h is not shorter than remember_posted, 2h, after which the relay forgets the message; use less",
		"relay.yaml:7: channels[3].remind_every: 3h is not shorter than remember_posted, 2h",
		"relay.yaml:8: channels[4].remind_after: 1000h is out of range; use 1s to 168h, or 0s",
		"relay.yaml:8: channels[4].remind_after: 1000h is not shorter than remember_posted, 700h",
		`relay.yaml:8: channels[4].remind_in: "dm" is not a valid value; use auto, thread or channel`,
		`relay.yaml:8: channels[4].remind_severity: "bad" is not a valid value; use critical, error, warning or info`,
		`relay.yaml:9: channels[5].remind_mention: "oncall" cannot be mentioned`)
}
