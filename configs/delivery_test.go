package configs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

func TestWhatIsDelivered(t *testing.T) {
	cfg := good(t, `
operations_slack_channel: C0OPS
channels:
  - {name: a, slack_channel: C0A, resolves: edit, repeats: merge, overflow: merge, bundle: webhook, digest_interval: 10m,
     mentions: [{severity: critical, who: S0ONCALL}], unknown: [{severity: info, do: drop}], template_title: "*{{.Title}}*",
     fallback_slack_channel: C0FALLBACK}
  - {name: b, slack_webhook_url: "http://hooks/x", digest: false, on_unknown: drop, unknown: [{severity: critical, do: retry}]}
`, "RELAY_SLACK_TOKEN=xoxb-1")
	preview := func(string) notifier.Sender { return nil }
	channels := cfg.PipelineChannels(func(ch configs.Channel) notifier.Sender { return cfg.Sender(ch, preview) })
	a, b := channels[0], channels[1]
	require.Equal(t, []any{store.OverflowMerge, store.ResolvesEdit, true, true}, []any{a.Handling.Overflow, a.Handling.Resolves, a.Handling.Repeats, a.Bundle})
	require.Equal(t, "10m0s 30s 1", a.Digest.Interval.String()+" "+a.Digest.EditEvery.String()+" 1")
	require.Equal(t, "<!subteam^S0ONCALL>", a.Renderer.Mentions[events.Critical])
	require.NotNil(t, a.Renderer.Template)
	require.NotNil(t, a.Fallback)
	require.NotNil(t, cfg.Operations())
	require.Equal(t, map[events.Severity]bool{events.Critical: false, events.Error: false, events.Warning: false, events.Info: true}, a.DropUnknown)
	require.Zero(t, b.Digest)
	require.Nil(t, b.Fallback)
	require.Equal(t, map[events.Severity]bool{events.Critical: false, events.Error: true, events.Warning: true, events.Info: true}, b.DropUnknown)
}

func TestFaultsOfDelivery(t *testing.T) {
	bad(t, `
operations_slack_channel: C0OPS
slack_settle: 1h
slack_posts_per_minute: -1
dead_letters: 0
channels:
  - {name: a, slack_webhook_url: "http://hooks/x", resolves: edit, repeats: merge, overflow: merge, ttl: -1s, digest_minimum: 0,
     fallback_slack_channel: C0F, fallback_webhook_url: "http://hooks/y"}
  - {name: b, bundle: always, on_unknown: maybe, drop_record: -1, remember_posted: 1s, digest_interval: 1ms, overflow: delay, max_delayed: 0,
     mentions: [{severity: bad, who: me}], unknown: [{severity: warn, do: think}], template_text: "{{range 1000000}}x{{end}}"}
  - {name: c, bundle: webhook, resolves: reply, fallback_webhook_url: nonsense}
`, nil,
		"channels[0] (a).ttl is -1s", "channels[0] (a).resolves needs the bot token", "channels[0] (a).repeats needs the bot token",
		"channels[0] (a).overflow needs the bot token", "channels[0] (a).digest_minimum is 0; it must be between 1",
		"channels[0] (a).fallback_webhook_url and fallback_slack_channel are both set", "channels[0] (a).fallback_slack_channel needs slack_token",
		`channels[1] (b).bundle is "always"; it must be off, webhook`, `channels[1] (b).on_unknown is "maybe"`, "channels[1] (b).drop_record is -1",
		"channels[1] (b).remember_posted is 1s", "channels[1] (b).digest_interval is 1ms", "channels[1] (b).max_delayed is 0",
		`channels[1] (b).mentions[0].severity is "bad"`, `channels[1] (b).mentions[0].who is "me"`, `channels[1] (b).unknown[0].severity is "warn"`,
		`channels[1] (b).unknown[0].do is "think"`, "channels[1] (b).template_title or template_text cannot be used: template text: the number 1000000",
		"channels[2] (c).fallback_webhook_url must be an http or https URL",
		"operations_slack_channel needs slack_token", "slack_settle is 1h0m0s", "slack_posts_per_minute is -1", "dead_letters is 0")
}
