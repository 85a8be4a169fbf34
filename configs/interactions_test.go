package configs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/interaction"
)

const secret32 = "8f742231b10e8888abcd99yyyzzz85a5"

var goodSecret = strings.NewReplacer("y", "0", "z", "1").Replace(secret32)

func TestAppSecretsAreCheckedByTheirForm(t *testing.T) {
	const top = "slack_token: xoxb-1\nchannels: [{name: a, slack_channel: C0123}]\n"
	for value, want := range map[string]string{
		"slack_app_token: xoxb-1-2":         "is a bot token, which cannot open sockets",
		"slack_app_token: xapp-…":           "is a placeholder, not a token",
		"slack_app_token: hunter2":          "is not an app-level token",
		"slack_app_token: 'xapp-1 '":        "begins or ends with white space",
		"slack_signing_secret: hunter2":     "is not a signing secret; copy the Signing Secret",
		"slack_signing_secret: xoxb-1":      "is a token, not a signing secret",
		"slack_signing_secret: <secret>":    "is a placeholder, not a signing secret",
		"slack_signing_secret: " + secret32: "is not a signing secret",
	} {
		_, err := load(t, value+"\n"+top)
		require.ErrorContains(t, err, strings.Split(value, ":")[0]+": "+want, value)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := load(t, "slack_app_token: xapp-1-A1-2-3\nslack_signing_secret: "+goodSecret+"\n"+top)
	require.NoError(t, err)
	_, err = load(t, "slack_app_token: xapp-1-A1-2-3\nchannels: [{name: a, slack_channel: C0123}]\n")
	require.ErrorContains(t, err, "slack_app_token: is set without a bot token")
}

func TestDistinctAppsAreServedOnce(t *testing.T) {
	loaded, err := load(t, `
slack_token: xoxb-1
slack_app_token: xapp-1
channels:
  - {name: a, slack_channel: C0001}
  - {name: b, slack_channel: C0002}
  - {name: hook, slack_webhook_url: https://hooks.slack.com/services/T1/B1/x}
`)
	require.NoError(t, err)
	require.Equal(t, []interaction.App{{Name: "slack_token", AppToken: "xapp-1", BotTokens: []string{"xoxb-1"}}}, loaded.Config.Apps())
	for i, want := range []bool{true, true, false} {
		require.Equal(t, want, loaded.Config.ReceivesClicks(loaded.Config.Channels[i]))
	}
	cfg := configs.Default()
	cfg.SlackToken = "xoxb-1"
	require.Empty(t, cfg.Apps(), "off unless configured")
}
