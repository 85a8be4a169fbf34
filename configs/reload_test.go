package configs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
)

func TestReloadThatLosesProtectionIsRefused(t *testing.T) {
	const hook = "slack_webhook_url: https://hooks.slack.com/services/T/B/x"
	const opened = "channel a would accept webhooks from anyone"
	const silent = "channel a would no longer post to Slack"
	for _, c := range []struct{ name, before, after, fault, warning string }{
		{"nothing changes", "[{name: a, ingress_token: x}]", "[{name: a, ingress_token: x}]", "", ""},
		{"token becomes credential", "[{name: a, ingress_token: x}]", "[{name: a, auth: [{name: s, kind: bearer, secret: y}]}]", "", ""},
		{
			"token removed", "[{name: b}, {name: a, ingress_token: x}]", "[{name: a}]",
			"channels[0]: " + opened + ", because ingress_token or auth was removed; set it again", "",
		},
		{"credential removed", "[{name: a, auth: [{name: s, kind: bearer, secret: y}]}]", "[{name: a}]", opened, ""},
		{
			"token removed on purpose", "[{name: a, ingress_token: x}]", "[{name: a}]\nallow_unauthenticated: true",
			"", "channel a now accepts webhooks from anyone",
		},
		{"open before", "[{name: a}]", "[{name: a}]", "", ""},
		{"webhook removed", "[{name: a, " + hook + "}]", "[{name: a}]", silent, ""},
		{"bot token removed", "[{name: a, slack_channel: C}]\nslack_token: t", "[{name: a, slack_channel: C}]", silent, ""},
		{"webhook becomes channel", "[{name: a, " + hook + "}]", "[{name: a, slack_channel: C}]\nslack_token: t", "", ""},
		{"admin token removed", "[{name: a}]\nadmin_token: t", "[{name: a}]", "", "admin_token was removed"},
		{"other channel", "[{name: a, ingress_token: x, " + hook + "}]", "[{name: b}]", "", ""},
		{"token and webhook removed", "[{name: a, ingress_token: very-secret, " + hook + "}]", "[{name: a}]", opened, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := good(t, "channels: "+c.before+"\n")
			after := good(t, "channels: "+c.after+"\n")
			faults, warnings := after.Follow(before)
			text := fmt.Sprint(faults)
			require.NotContains(t, text, "very-secret")
			if c.fault == "" {
				require.Empty(t, faults)
			} else {
				require.Contains(t, text, c.fault)
			}
			if c.warning == "" {
				require.Empty(t, warnings)
			} else {
				require.Len(t, warnings, 1)
				require.Contains(t, warnings[0], c.warning)
			}
		})
	}
}

func TestHashIgnoresSecretsAndReloadKeepsWhatNeedsARestart(t *testing.T) {
	one, two := configs.Default(), configs.Default()
	require.Equal(t, one.Hash(), two.Hash())
	two.SlackToken = "xoxb-1"
	with := two.Hash()
	require.NotEqual(t, one.Hash(), with)
	two.SlackToken = "xoxb-2"
	require.Equal(t, with, two.Hash(), "the value of a secret is not in it")
	two.Channels[0].Window = time.Hour
	require.NotEqual(t, with, two.Hash())

	two.Listen = ":1"
	two.Dedupe = time.Minute
	two.LogLevel = "debug"
	two.TLSCertFile = "x"
	require.Equal(t, []string{"listen", "dedupe", "log_level", "tls_cert_file"}, two.KeepWhatNeedsRestart(one))
	require.Equal(t, one.Listen, two.Listen)
	require.Equal(t, one.Dedupe, two.Dedupe)
	require.Equal(t, one.LogLevel, two.LogLevel)
	require.Empty(t, two.TLSCertFile)
	require.Equal(t, time.Hour, two.Channels[0].Window)
	require.Empty(t, two.KeepWhatNeedsRestart(one))
}
