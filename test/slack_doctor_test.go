package test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/slackapp"
)

// workspace is a fake Slack with the bot in one of two channels.
func workspace(t *testing.T) *fakeslack.Server {
	t.Helper()
	slack := startSlack(t)
	slack.Token = "xoxb-1"
	for _, scope := range slackapp.Scopes() {
		slack.Scopes = append(slack.Scopes, scope.Name)
	}
	slack.Conversations = []fakeslack.Conversation{
		{ID: "C0ALERTS", Name: "alerts", IsMember: true}, {ID: "G0SECRET", Name: "secret", IsPrivate: true},
	}
	return slack
}

func TestTheDoctorSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	slack, redis := workspace(t), redistest.Start(t)
	env := []string{
		"RELAY_REDIS_URL=" + redis.URL, "RELAY_SLACK_TOKEN=xoxb-1", "RELAY_SLACK_API_URL=" + slack.APIURL(), "RELAY_CHANNELS=alerts,hook",
		"RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=C0ALERTS", "RELAY_CHANNEL_HOOK_SLACK_WEBHOOK_URL=" + slack.WebhookURL("C1", "very-secret"),
	}
	out, stderr, code := runRelay(t, env, "slack", "doctor")
	require.Zero(t, code, out+stderr)
	require.Regexp(t, `(?m)^ok       redis: redis://127\.0\.0\.1:\d+/0 is available, and answered in `, out)
	require.Contains(t, out, "ok       slack_token: valid, for the bot relay in the workspace Fake\n")
	require.Contains(t, out, "ok       channel alerts: the bot can post to #alerts (C0ALERTS)\n")
	require.Contains(t, out, "ok       channel hook: posts to 127.0.0.1:")
	require.NotContains(t, out+stderr, "very-secret")
	require.Empty(t, slack.Posts(), "nothing is posted")

	out, stderr, code = runRelay(t, append(env, "RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=G0SECRET"), "slack", "doctor", "--json")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "something keeps messages from being posted")
	var report struct{ Findings []slackapp.Finding }
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Contains(t, report.Findings, slackapp.Finding{
		Subject: "channel alerts", Grade: slackapp.Fault, Message: "no channel that the bot can see has the id G0SECRET",
		Remedy: "correct slack_channel; if the channel is private, invite the bot there: /invite @relay",
	})
}

func TestTheDoctorFindsNoRedis(t *testing.T) {
	t.Parallel()
	out, _, code := runRelay(t, []string{"RELAY_REDIS_URL=redis://127.0.0.1:1"}, "slack", "doctor")
	require.Equal(t, 1, code)
	require.Contains(t, out, "fault    redis: redis://127.0.0.1:1/0: ")
	require.Contains(t, out, "warning  channel default: has no Slack destination; its messages are only printed on the console")
}

// A bot that is not in a public channel joins it, and the message that found that out is posted once.
func TestTheFirstMessageJoinsThePublicChannel(t *testing.T) {
	t.Parallel()
	slack, redis := workspace(t), redistest.Start(t)
	slack.Conversations[0].IsMember = false
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_SLACK_TOKEN=xoxb-1", "RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=C0ALERTS")...)
	relay.post(t, "alerts", map[string]string{"title": "hello"})
	relay.drained(t, "alerts", 10*time.Second)
	require.Len(t, slack.Posts(), 1)
}

// The table of docs/slack.md is that of the code.
func TestDocsListTheScopes(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile("(?m)^\\| `([a-z:]+)` \\| (.+?) \\|").FindAllStringSubmatch(doc(t, "slack"), -1)
	scopes := slackapp.Scopes()
	require.Len(t, rows, len(scopes))
	for i, scope := range scopes {
		require.Equal(t, scope.Name, rows[i][1])
		require.Equal(t, scope.Use, rows[i][2])
	}
}
