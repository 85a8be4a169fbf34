package test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
)

// Alertmanager talks to the relay as it talks to Discord, Opsgenie and PagerDuty: the same integrations with another URL. A close by
// alias and a resolve by key edit the message of their firing.
func TestAlertmanagerPostsThroughTheDoorsOfOtherProducts(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_CHANNELS=chat,calls,pages")
	for _, name := range []string{"CHAT", "CALLS", "PAGES"} {
		env = append(env, "RELAY_CHANNEL_"+name+"_SLACK_CHANNEL=C0"+name, "RELAY_CHANNEL_"+name+"_INGRESS_TOKEN=token-of-"+name,
			"RELAY_CHANNEL_"+name+"_RESOLVES=edit", "RELAY_CHANNEL_"+name+"_PACE=1ms")
	}
	relay := startRelay(t, env...)
	am := startAlertmanager(t, `
  - name: relay
    discord_configs: [{webhook_url: "`+relay.public+`/api/webhooks/chat/token-of-CHAT", send_resolved: true}]
    opsgenie_configs: [{api_url: "`+relay.public+`/", api_key: token-of-CALLS, priority: P1, update_alerts: true, send_resolved: true}]
    pagerduty_configs: [{url: "`+relay.public+`/v2/enqueue", routing_key: token-of-PAGES, severity: critical, send_resolved: true}]
`)
	postsIn := func(channel string) (posts []fakeslack.Post) {
		for _, post := range slack.Posts() {
			if post.Channel == channel {
				posts = append(posts, post)
			}
		}
		return posts
	}
	channels := []string{"C0CHAT", "C0CALLS", "C0PAGES"}
	am.send(t, false, "db-1")
	for _, channel := range channels {
		require.Eventually(t, func() bool { return len(postsIn(channel)) == 1 }, 10*time.Second, 10*time.Millisecond, channel)
		text := postsIn(channel)[0].Form.Get("text")
		require.Contains(t, text, "[FIRING:1] DiskFull")
		require.Equal(t, channel != "C0CHAT", strings.HasPrefix(text, "🔴"), text)
	}
	am.send(t, true, "db-1")
	require.Eventually(t, func() bool { return len(postsIn("C0CHAT")) == 2 }, 10*time.Second, 10*time.Millisecond)
	require.Contains(t, postsIn("C0CHAT")[1].Form.Get("text"), "✅")
	for _, channel := range channels[1:] {
		require.Eventually(t, func() bool {
			text, _ := shownLast(postsIn(channel)[0])
			return strings.Contains(text, "Resolved: ") && strings.Contains(text, "DiskFull")
		}, 10*time.Second, 10*time.Millisecond, channel)
		require.Len(t, postsIn(channel), 1)
	}
	for _, integration := range []string{"opsgenie", "pagerduty"} { // there is no such metric for Discord in older versions
		sent, failed := am.notified(t, integration)
		require.NotEqual(t, "0", sent)
		require.Equal(t, "0", failed, "%s: %s", integration, am.log)
	}
	for _, name := range []string{"chat", "calls", "pages"} {
		ledger := relay.status(t, name).Ledger
		require.Zero(t, ledger.Imbalance())
		require.Equal(t, int64(2), ledger.Received, name)
	}
}
