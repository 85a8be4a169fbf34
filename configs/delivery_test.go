package configs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

func TestPipelineGetsTheDeliverySettings(t *testing.T) {
	cfg := good(t, `
operations_slack_channel: C0OPS
channels:
  - {name: a, slack_channel: C0A, resolves: edit, repeats: merge, overflow: merge, bundle: webhook, digest_interval: 10m,
     mentions: [{severity: critical, who: S0ONCALL}], unknown: [{severity: info, do: drop}], template_title: "*{{.Title}}*",
     fallback_slack_channel: C0FALLBACK}
  - {name: b, slack_webhook_url: "http://hooks/x", digest: false, on_unknown: drop, unknown: [{severity: critical, do: retry}]}
`, "RELAY_SLACK_TOKEN=xoxb-1")
	preview := func(string) notifier.Sender { return nil }
	senders := cfg.Senders(preview)
	channels := cfg.PipelineChannels(senders)
	a, b := channels[0], channels[1]
	require.Equal(t, store.OverflowMerge, a.Handling.Overflow)
	require.Equal(t, store.ResolvesEdit, a.Handling.Resolves)
	require.True(t, a.Handling.Repeats)
	require.EqualValues(t, "webhook", a.Bundle)
	require.Equal(t, 10*time.Minute, a.Digest.Interval)
	require.Equal(t, 30*time.Second, a.Digest.EditEvery)
	require.EqualValues(t, 1, a.Digest.Minimum)
	require.Equal(t, "<!subteam^S0ONCALL>", a.Renderer.Mentions[events.Critical])
	require.NotNil(t, a.Renderer.Template)
	require.NotNil(t, a.Fallback)
	require.NotNil(t, senders.Operations())
	require.Equal(t, map[events.Severity]bool{"critical": false, "error": false, "warning": false, "info": true}, a.DropUnknown)
	require.Zero(t, b.Digest)
	require.Nil(t, b.Fallback)
	require.Equal(t, map[events.Severity]bool{"critical": false, "error": true, "warning": true, "info": true}, b.DropUnknown)
}

func TestInvalidDeliverySettingsAreRefused(t *testing.T) {
	bad(t, `
operations_slack_channel: C0OPS
slack_lookup_delay: 1h
slack_posts_per_minute: -1
dead_letters: 0
channels:
  - {name: a, slack_webhook_url: "http://hooks/x", resolves: edit, repeats: merge, overflow: merge, ttl: -1s, digest_minimum: 0,
     fallback_slack_channel: C0F, fallback_webhook_url: "http://hooks/y"}
  - {name: b, bundle: always, on_unknown: maybe, drop_record: -1, remember_posted: 1s, digest_interval: 1ms,
     overflow: delay, max_delayed: 0, mentions: [{severity: bad, who: me}], unknown: [{severity: warn, do: think}],
     template_text: "{{range 1000000}}x{{end}}"}
  - {name: c, bundle: webhook, resolves: reply, fallback_webhook_url: nonsense}
`, nil,
		"relay.yaml:2: operations_slack_channel: needs slack_token",
		"relay.yaml:3: slack_lookup_delay: 1h is out of range",
		"relay.yaml:4: slack_posts_per_minute: -1 is out of range",
		"relay.yaml:5: dead_letters: 0 is out of range",
		"relay.yaml:7: channels[0].ttl: -1s is out of range; use 0s to 744h",
		`relay.yaml:7: channels[0].resolves: "edit" needs the bot token`,
		`relay.yaml:7: channels[0].repeats: "merge" needs the bot token`,
		`relay.yaml:7: channels[0].overflow: "merge" needs the bot token`,
		"relay.yaml:7: channels[0].digest_minimum: 0 is out of range; use 1 to 1000000",
		"relay.yaml:8: channels[0].fallback_webhook_url: cannot be combined with fallback_slack_channel",
		"relay.yaml:8: channels[0].fallback_slack_channel: needs slack_token",
		`relay.yaml:9: channels[1].bundle: "always" is not a valid value; use auto, webhook or off`,
		`relay.yaml:9: channels[1].on_unknown: "maybe" is not a valid value`,
		"relay.yaml:9: channels[1].drop_record: -1 is out of range",
		"relay.yaml:9: channels[1].remember_posted: 1s is out of range",
		"relay.yaml:9: channels[1].digest_interval: 1ms is out of range; use 1s to 744h, or 0s",
		"relay.yaml:10: channels[1].max_delayed: 0 is out of range",
		`relay.yaml:10: channels[1].mentions[0].severity: "bad" is not a valid value`,
		`relay.yaml:10: channels[1].mentions[0].who: "me" cannot be mentioned; use here`,
		`relay.yaml:10: channels[1].unknown[0].severity: "warn" is not a valid value; use critical, error, warning or info`,
		`relay.yaml:10: channels[1].unknown[0].do: "think" is not a valid value; use retry or drop`,
		"relay.yaml:11: channels[1].template_text: cannot be used: template text: the number 1000000",
		"relay.yaml:12: channels[2].fallback_webhook_url: the value is not a URL")
}

func TestCanaryNeedsADestinationAndSomebodyToAlert(t *testing.T) {
	const interval, operations = "RELAY_CANARY_INTERVAL=5m", "RELAY_OPERATIONS_WEBHOOK_URL=https://x/ops"
	cfg := good(t, "", interval, operations, "RELAY_CANARY_WEBHOOK_URL=https://x/services/y")
	require.NotNil(t, cfg.Senders(nil).Canary())
	cfg = configs.Default()
	require.Nil(t, cfg.Senders(nil).Canary())
	bad(t, "", []string{interval},
		"RELAY_CANARY_INTERVAL: needs a destination; set either canary_slack_channel", "RELAY_CANARY_INTERVAL: needs somebody to alert")
	bad(t, "", []string{interval, operations, "RELAY_CANARY_SLACK_CHANNEL=C1", "RELAY_CANARY_WITHIN=1ms"},
		"RELAY_CANARY_WITHIN: 1ms is out of range", "RELAY_CANARY_SLACK_CHANNEL: needs slack_token")
	bad(t, "", []string{"RELAY_CANARY_WEBHOOK_URL=nonsense"}, "RELAY_CANARY_WEBHOOK_URL: the value is not a URL")
}
