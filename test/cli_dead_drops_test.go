package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
)

// The fallback gets a copy, the operators are notified, the slot is refunded; then it is listed, replayed and deleted.
func TestDeadLetterIsCopiedReportedAndReplayed(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	var notified sync.Map
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Text string }
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			notified.Store(body.Text, true)
		}
	}))
	t.Cleanup(hook.Close)
	env := fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_FALLBACK_SLACK_CHANNEL=C0FALLBACK", "RELAY_OPERATIONS_WEBHOOK_URL="+hook.URL,
		"RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2")
	relay := startRelay(t, env...)
	slack.Script("C0ALERTS", fakeslack.APIError("invalid_blocks"), fakeslack.Reply{}, fakeslack.APIError("is_archived"),
		fakeslack.APIError("is_archived"))
	relay.post(t, "alerts", []event{{ID: "1", Category: "c", Title: "said plainly"}, {ID: "2", Category: "c", Title: "refused"}})
	status := relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, status.Ledger)
	require.Equal(t, int64(1), status.Levels[0].Used, "the slot of what never appeared is given back")
	require.Eventually(t, func() bool { return len(slack.Posts()) == 2 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "C0FALLBACK 🟡 *refused*", slack.Posts()[1].Channel+" "+slack.Posts()[1].Text)
	require.Empty(t, slack.Posts()[0].Form.Get("attachments"), "plain text")
	require.Eventually(t, func() bool {
		found := false
		notified.Range(func(text, _ any) bool {
			found = found || strings.Contains(fmt.Sprint(text), "channel alerts: Slack refuses messages for good (is_archived)")
			return true
		})
		return found
	}, 10*time.Second, 10*time.Millisecond)

	cli := append(env, "RELAY_OPS_LISTEN="+strings.TrimPrefix(relay.ops, "http://"))
	list, stderr, code := runRelay(t, cli, "dead", "list")
	require.Zero(t, code, stderr)
	require.Regexp(t, `\d+-0 +\S+ \S+ +is_archived +1 +warning refused +is_archived`, list)
	id := regexp.MustCompile(`\d{13}-\d`).FindString(list)
	refused, stderr, code := runRelay(t, append(cli, "RELAY_ADMIN_TOKEN=wrong"), "dead", "replay", id)
	require.Equal(t, 1, code, refused)
	require.Contains(t, stderr, "needs the admin token")
	relay.post(t, "alerts", event{ID: "3", Category: "c", Title: "also refused"})
	relay.drained(t, "alerts", 10*time.Second)
	replayed, stderr, code := runRelay(t, cli, "dead", "replay", id)
	require.Zero(t, code, stderr)
	require.Contains(t, replayed, "admitted  category c  id replay-dead-"+id)
	status = relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, store.Ledger{Received: 4, Admitted: 4, Delivered: 2, Failed: 2}, status.Ledger, "it is received again")
	list, _, _ = runRelay(t, cli, "dead", "list")
	require.NotContains(t, list, id)
	deleted, stderr, code := runRelay(t, cli, "dead", "delete", regexp.MustCompile(`\d{13}-\d`).FindString(list))
	require.Zero(t, code, stderr)
	require.Contains(t, deleted, "deleted")
	list, _, _ = runRelay(t, cli, "dead", "list")
	require.Equal(t, "channel alerts has no dead letters\n", list)
	_, stderr, code = runRelay(t, cli, "dead", "replay", id)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, `nothing is kept under the id "`+id+`"`)
}

func TestDropsAreListedExplainedAndReplayed(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]string{"redis": redistest.Start(t).URL, "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack := startSlack(t)
			env := fast(redis, slack, "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1", "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_WINDOW=3s")
			relay := startRelay(t, env...)
			relay.post(t, "alerts", []event{{ID: "1", Category: "c", Title: "shown"}, {ID: "2", Category: "c", Title: "dropped"}})
			relay.post(t, "alerts", event{ID: "3", Category: "c", Title: "refused by the cache"})
			cli := append(env, "RELAY_OPS_LISTEN="+strings.TrimPrefix(relay.ops, "http://"))
			list, stderr, code := runRelay(t, cli, "drops", "list")
			require.Zero(t, code, stderr)
			require.Regexp(t, `(?s)refused by the cache.*category +1/1 +\S+s +warning dropped`, list)
			explained, stderr, code := runRelay(t, cli, "drops", "explain", "2")
			require.Zero(t, code, stderr)
			require.Contains(t, explained, "the limit of the category was reached: 1 of 1 used")
			_, stderr, code = runRelay(t, cli, "drops", "explain", "nobody")
			require.Equal(t, 1, code)
			require.Contains(t, stderr, "it was counted without a record (of the 2 drops in all")
			require.Eventually(t, func() bool { return relay.status(t, "alerts").Levels[0].Used == 0 }, 10*time.Second, 20*time.Millisecond)
			replayed, stderr, code := runRelay(t, cli, "drops", "replay", "2")
			require.Zero(t, code, stderr)
			require.Contains(t, replayed, "admitted")
			relay.drained(t, "alerts", 10*time.Second)
			require.Contains(t, slack.Posts()[1].Text, "dropped")
		})
	}
}

func TestTextsOfEventsNeedTheAdminTokenOnOtherMachines(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_OPS_LISTEN=:0", "RELAY_ADMIN_TOKEN=4dm1n",
		"RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1")...)
	relay.post(t, "alerts", []event{{ID: "1", Title: "secret words"}, {ID: "2", Title: "secret words"}})
	path := relay.ops + "/api/v1/channels/alerts/drops"
	_, answer := request(t, http.MethodGet, path, "", nil)
	require.NotContains(t, string(answer), "secret words")
	require.Contains(t, string(answer), `"category":"uncategorized"`)
	_, answer = request(t, http.MethodGet, path, "4dm1n", nil)
	require.Contains(t, string(answer), "secret words")
	for code, c := range map[string]struct{ method, path string }{
		"unauthorized": {http.MethodPost, "/2/replay"},
		"bad_field":    {http.MethodGet, "?limit=many"},
		"not_found":    {http.MethodGet, "/nobody"},
	} {
		t.Run(code, func(t *testing.T) {
			_, answer := request(t, c.method, path+c.path, "", nil)
			require.Contains(t, string(answer), code)
		})
	}
}
