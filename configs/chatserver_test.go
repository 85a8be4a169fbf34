package configs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
)

func TestThePaceOfSlackIsForSlack(t *testing.T) {
	cfg := good(t, `
channels:
  - {name: slack, slack_webhook_url: "https://hooks.slack.com/services/T0/B0/x"}
  - {name: mattermost, slack_webhook_url: "https://chat.example/hooks/ab12"}
  - {name: rocketchat, slack_webhook_url: "https://chat.example/hooks/ab12/token"}
  - {name: slow, slack_webhook_url: "https://chat.example/hooks/ab12", pace: 1s}
  - {name: variable, slack_webhook_url: "https://chat.example/hooks/ab12"}
`, "RELAY_CHANNEL_VARIABLE_PACE=1s", "RELAY_CHANNELS=rocketchat,slow,variable,mattermost,slack")
	paces := map[string]time.Duration{}
	for _, ch := range cfg.Channels {
		paces[ch.Name] = ch.Pace
	}
	require.Equal(t, map[string]time.Duration{
		"slack": time.Second, "mattermost": 0, "rocketchat": 0, "slow": time.Second, "variable": time.Second,
	}, paces)
}

func TestMentionsThatOnlySlackUnderstandsAreReported(t *testing.T) {
	loaded, err := load(t, `
channels:
  - {name: a, slack_webhook_url: "https://chat.example/hooks/ab12",
     mentions: [{severity: critical, who: here}, {severity: error, who: S0ONCALL}]}
  - {name: b, slack_webhook_url: "https://hooks.slack.com/services/T0/B0/x", mentions: [{severity: error, who: S0ONCALL}]}
`)
	require.NoError(t, err)
	all := strings.Join(loaded.Warnings, "\n")
	require.Contains(t, all, `relay.yaml:4: channels[0].mentions[1].who: "S0ONCALL" is an id of Slack, which mentions nobody on `+
		`another server; use here, channel or everyone`)
	require.Equal(t, 1, strings.Count(all, "mentions nobody"), all)
}

func TestOperatorsMayReadInMattermost(t *testing.T) {
	for url, want := range map[string]notifier.Sender{
		"https://chat.example/hooks/ab12": &notifier.IncomingWebhook{}, "https://any.example/notify": &notifier.JSONSink{},
	} {
		cfg := good(t, "", "RELAY_OPERATIONS_WEBHOOK_URL="+url)
		require.IsType(t, want, cfg.Senders(nil).Operations())
	}
}
