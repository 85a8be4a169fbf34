package test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
)

// Redis dies while Slack has the answer to a message, and returns from an older snapshot: the next message gets the number of
// the forgotten one, and must not get its answer.
func TestRestoredSnapshotMixesUpNoMessages(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_ON_REDIS_DOWN=closed")...)
	relay.post(t, "alerts", event{Title: "before"})
	relay.drained(t, "alerts", 10*time.Second)
	waiting := func() []string {
		return redis.Client().ZRange(t.Context(), "relay:{alerts}:outbox:alerts", 0, -1).Val()
	}
	require.Empty(t, waiting())
	require.NoError(t, redis.Client().Save(t.Context()).Err())

	slack.Script("C0ALERTS", fakeslack.Reply{Delay: 4 * time.Second})
	relay.post(t, "alerts", event{Title: "old"})
	require.Eventually(t, func() bool { return slack.Requests() == 2 }, 10*time.Second, time.Millisecond)
	old := waiting()
	require.Len(t, old, 1)
	redis.Kill()
	redis.Up()
	require.Empty(t, waiting(), "it is forgotten")
	body, err := json.Marshal(event{ID: "new", Title: "new"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		status, _ := request(t, http.MethodPost, relay.public+"/hooks/alerts", "", body)
		return status == http.StatusAccepted
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, old, waiting(), "the number is given again")
	require.Len(t, slack.Posts(), 1, "Slack has not answered yet")

	status := relay.drained(t, "alerts", 20*time.Second)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, status.Ledger)
	posts := slack.Posts()
	require.Len(t, posts, 3)
	require.Contains(t, posts[1].Text, "old")
	require.Contains(t, posts[2].Text, "new")
	require.Equal(t, "0", relay.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
}

// Redis stalls for longer than a call may take. The relay knows that what Redis then claims was not sent, although on_unknown
// would drop it.
func TestClaimsOfAStalledRedisAreNotInDoubt(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, "RELAY_REDIS_URL="+redis.URL, "RELAY_REDIS_TIMEOUT=200ms", "RELAY_CHANNELS=hook",
		"RELAY_CHANNEL_HOOK_ON_UNKNOWN=drop",
		"RELAY_CHANNEL_HOOK_SLACK_WEBHOOK_URL="+slack.WebhookURL("B0", "secret"), "RELAY_CHANNEL_HOOK_ON_REDIS_DOWN=closed",
		"RELAY_CHANNEL_HOOK_PACE=300ms", "RELAY_CHANNEL_HOOK_BURST=1",
		"RELAY_CHANNEL_HOOK_GLOBAL_LIMIT=100", "RELAY_CHANNEL_HOOK_CATEGORY_LIMIT=100")
	var all []event
	for range 12 {
		all = append(all, event{Title: "kept"})
	}
	relay.post(t, "hook", all)
	for stall := range 4 {
		require.Eventually(t, func() bool {
			delivered, _ := redis.Client().HGet(t.Context(), "relay:{hook}:ledger:hook", "delivered").Int()
			return delivered > 2*stall
		}, 10*time.Second, time.Millisecond)
		said := strings.Count(relay.output.String(), "outbox unavailable")
		redis.Stop() // nothing is in flight: what comes next is a claim
		require.Eventually(t, func() bool { return strings.Count(relay.output.String(), "outbox unavailable") > said }, 10*time.Second,
			time.Millisecond)
		for range 3 { // each asks Redis, and gives up; the pace allows a message by then
			status, _ := request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
			require.Equal(t, http.StatusServiceUnavailable, status)
		}
		redis.Continue()
	}
	status := relay.drained(t, "hook", 20*time.Second)
	require.Equal(t, store.Ledger{Received: 12, Admitted: 12, Delivered: 12}, status.Ledger)
	require.Len(t, slack.Posts(), 12)
}
