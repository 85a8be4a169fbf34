package test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
)

// The channel is not the first one, the printed hints work when pasted, and a forced event spends no slot but is in the
// ledger, the metrics and the audit log.
func TestReplayPrintsTheOutcomeAndForceBypassesTheLimits(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_CHANNELS=first,alerts", "RELAY_CHANNEL_FIRST_SLACK_CHANNEL=C0FIRST",
		"RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1", "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_WINDOW=1h")
	relay := startRelay(t, env...)
	env = append(env, "RELAY_OPS_LISTEN="+strings.TrimPrefix(relay.ops, "http://"))
	run := func(args ...string) (string, string, int) { return runRelay(t, env, args...) }
	relay.post(t, "alerts", []event{{ID: "1", Category: "c", Title: "shown"}, {ID: "2", Category: "c", Title: "dropped"}})
	relay.post(t, "alerts", alertmanager(alert("Disk", "aa", "resolved", "never posted")))

	paste := func(id string) []string {
		explained, stderr, code := run("drops", "explain", "--channel", "alerts", id)
		require.Zero(t, code, stderr)
		return strings.Fields(regexp.MustCompile(`with: relay (.+)\n`).FindStringSubmatch(explained)[1])
	}
	hint := paste("2")
	require.Regexp(t, `^drops replay --channel alerts \d+-\d+$`, strings.Join(hint, " "))
	said, stderr, code := run(hint...)
	require.Equal(t, 1, code)
	require.Regexp(t, `^dropped  category c  id replay-drop-\S+: the limit of the category is reached; the next slot is free in \S+\n$`, said)
	require.Regexp(t, `^relay: 1 of 1 events were dropped again; post them past the limits with: `+
		`relay drops replay --channel alerts --force \d+-\d+\n$`, stderr)

	before := relay.status(t, "alerts").Levels[0].Used
	for _, want := range []string{`^admitted  category c  id replay-drop-\S+: past the limits\n$`, `^duplicate  `} {
		said, stderr, code = run(append(hint, "--force")...)
		require.Zero(t, code, stderr)
		require.Regexp(t, want, said)
	}
	hint = paste("aa:resolved:2026-11-20T08:00:00Z")
	require.Contains(t, hint, "--force", "the limits would refuse it always")
	said, stderr, code = run(hint...)
	require.Zero(t, code, stderr)
	require.Contains(t, said, "admitted  category disk")
	status := relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, store.Ledger{Received: 7, Admitted: 3, Dropped: 3, Duplicate: 1, Delivered: 3, Forced: 2}, status.Ledger)
	require.Equal(t, before, status.Levels[0].Used, "no slot")
	require.Len(t, slack.Posts(), 3)
	require.Equal(t, "2", relay.metric(t, `relay_events_forced_total{channel="alerts"}`))
	require.Regexp(t, `"msg":"audit","what":"dropped event sent again".*"channel":"alerts".*"forced":true,"admitted":1`, relay.output.String())
	require.Contains(t, relay.output.String(), "a limit is reached")
	require.NotContains(t, relay.output.String(), "events fit again", "the limit is as full as before")

	_, stderr, code = run("drops", "list", "--channel", "nobody")
	require.Equal(t, 1, code)
	require.Equal(t, "relay: unknown_channel: the relay has no channel \"nobody\"; use --channel with one of these: first, alerts\n", stderr)
	code, answer := request(t, http.MethodPost, relay.ops+"/api/v1/channels/alerts/drops/2/replay", "", []byte(`{"force":true}`))
	require.Equal(t, http.StatusUnauthorized, code, "%s", answer)
	_, answer = request(t, http.MethodPost, relay.ops+"/api/v1/channels/alerts/drops/2/replay", "4dm1n", []byte(`{"forse":true}`))
	require.Contains(t, string(answer), "bad_json")
}

// It spent none.
func TestForcedDeadLetterRefundsNoSlot(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	slack.Script("C0ALERTS", fakeslack.Reply{}, fakeslack.APIError("is_archived"))
	config := filepath.Join(t.TempDir(), "relay.yaml")
	require.NoError(t, os.WriteFile(config, []byte(`
redis_url: `+redis.URL+`
slack_token: xoxb-test
slack_api_url: `+slack.APIURL()+`
admin_token: 4dm1n
channels:
  - name: alerts
    slack_channel: C0ALERTS
    digest: false
    levels: [{name: channel, strategy: fixed-window, windows: [{limit: 1, per: 1h}]}]
`), 0o600)) // a refund would remove any slot of a fixed window
	relay := startRelay(t, "RELAY_CONFIG="+config)
	relay.post(t, "alerts", []event{{ID: "1", Category: "c", Title: "shown"}, {ID: "2", Category: "c", Title: "dropped"}})
	relay.drained(t, "alerts", 10*time.Second)
	code, answer := request(t, http.MethodPost, relay.ops+"/api/v1/channels/alerts/drops/2/replay", "4dm1n", []byte(`{"force":true}`))
	require.Equal(t, http.StatusAccepted, code, "%s", answer)
	require.Contains(t, string(answer), `"forced":1`)
	status := relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, store.Ledger{Received: 3, Admitted: 2, Dropped: 1, Delivered: 1, Failed: 1, Forced: 1}, status.Ledger)
	require.Equal(t, int64(1), status.Levels[0].Used, fmt.Sprint(status.Levels))
}
