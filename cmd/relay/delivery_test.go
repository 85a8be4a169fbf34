package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
)

// alert is one alert of Alertmanager's webhook.
func alert(name, fingerprint, status, title string) map[string]any {
	return map[string]any{
		"status": status, "fingerprint": fingerprint, "startsAt": "2026-11-20T08:00:00Z", "endsAt": "2026-11-20T08:14:00Z",
		"labels": map[string]string{"alertname": name, "severity": "critical"}, "annotations": map[string]string{"summary": title},
	}
}

func alertmanager(alerts ...map[string]any) map[string]any {
	return map[string]any{"version": "4", "groupKey": "{}", "receiver": "relay", "status": "firing", "alerts": alerts}
}

func outcomes(receipt pipeline.Receipt) []string {
	all := make([]string, len(receipt.Events))
	for i, e := range receipt.Events {
		all[i] = strings.TrimSpace(e.Outcome + " " + e.Level)
	}
	return all
}

// digests are the posts that are digests, and what each says by now.
func digests(slack *fakeslack.Server) []string {
	var all []string
	for _, post := range slack.Posts() {
		if !strings.Contains(post.Text, "held back") && !strings.Contains(post.Text, "expired") {
			continue
		}
		said := post.Text
		for _, edit := range post.Edits {
			said = edit.Get("text")
		}
		all = append(all, said)
	}
	return all
}

var held = regexp.MustCompile(`\*(\d+) events? held back`)

// Three replicas drop in one window: there is one digest, and it has the right number, although the replica that
// claimed it is killed.
func TestDigest(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]func(slack *fakeslack.Server) []string{
		"by bot token": func(*fakeslack.Server) []string { return nil },
		"by incoming webhook": func(slack *fakeslack.Server) []string {
			return []string{"RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=", "RELAY_CHANNEL_ALERTS_SLACK_WEBHOOK_URL=" + slack.WebhookURL("C0ALERTS", "s3cret")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack, redis := startSlack(t), redistest.Start(t)
			all := fast(redis.URL, slack, append(env(slack), "RELAY_CHANNEL_ALERTS_DIGEST=true", "RELAY_CHANNEL_ALERTS_DIGEST_INTERVAL=4s",
				"RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2", "RELAY_LEASE=1s", "RELAY_SLACK_TIMEOUT=500ms")...)
			var replicas []*process
			for range 3 {
				replicas = append(replicas, startRelay(t, all...))
			}
			var dropped int
			for i := range 30 {
				receipt := replicas[i%2].take(t, "alerts", []event{{Category: fmt.Sprint("c", i%3), Title: "x"}, {Category: "busy", Title: "y"}})
				dropped += receipt.Dropped
			}
			require.Equal(t, 60-4*2, dropped)
			require.Eventually(t, func() bool { return replicas[0].status(t, "alerts").Ledger.Dropped == int64(dropped) }, 5*time.Second, 10*time.Millisecond)
			require.Eventually(t, func() bool { // whoever sends it is killed at once
				for _, r := range replicas {
					owner := redis.Client().HGet(t.Context(), "relay:{alerts}:lease:alerts", "owner").Val()
					if strings.Contains(owner, fmt.Sprintf("-%d-", r.cmd.Process.Pid)) {
						r.kill()
						return true
					}
				}
				return len(digests(slack)) > 0 && replicas[2].status(t, "alerts").Ledger.Pending == 0
			}, 10*time.Second, time.Millisecond)
			require.Eventually(t, func() bool {
				said := digests(slack)
				if len(said) == 0 {
					return false
				}
				number := held.FindStringSubmatch(said[0])
				return number != nil && number[1] == fmt.Sprint(dropped)
			}, 20*time.Second, 20*time.Millisecond, "%v", digests(slack))
			require.Len(t, digests(slack), 1)
			require.Len(t, slack.Posts(), 4*2+1, "it takes no slot")
		})
	}
}

func TestResolvesEditTheirFiring(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_RESOLVES=edit", "RELAY_CHANNEL_ALERTS_REPEATS=merge", "RELAY_DEDUPE=1s")...)
	require.Equal(t, []string{"admitted", "dropped suppressed"}, outcomes(relay.take(t, "alerts", alertmanager(
		alert("Disk", "aa", "firing", "Disk full"), alert("Disk", "bb", "resolved", "never told")))))
	relay.settled(t, "alerts", 10*time.Second)
	require.Eventually(t, func() bool { // a repeat after the dedupe time
		receipt := relay.take(t, "alerts", alertmanager(alert("Disk", "aa", "firing", "Disk full")))
		return receipt.Merged == 1
	}, 5*time.Second, 200*time.Millisecond)
	require.Equal(t, []string{"merged"}, outcomes(relay.take(t, "alerts", alertmanager(alert("Disk", "aa", "resolved", "Disk full")))))
	require.Eventually(t, func() bool {
		posts := slack.Posts()
		return len(posts[0].Edits) > 0 && strings.Contains(posts[0].Edits[len(posts[0].Edits)-1].Get("text"), "Resolved: Disk full")
	}, 10*time.Second, 10*time.Millisecond)
	posts := slack.Posts()
	require.Len(t, posts, 1, "one message tells it all")
	last := posts[0].Edits[len(posts[0].Edits)-1].Get("attachments")
	require.Contains(t, last, "resolved after")
	require.Contains(t, last, "told again once")
	require.Contains(t, last, "#2eb67d")
	status := relay.status(t, "alerts")
	require.Equal(t, int64(1), status.Levels[0].Used, "edits take no slot")
	require.Zero(t, status.Ledger.Imbalance())
	require.Equal(t, []int64{1, 1, 2}, []int64{status.Ledger.Admitted, status.Ledger.Dropped, status.Ledger.Merged})
}

func TestResolvesAnswerInTheThread(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_RESOLVES=reply")...)
	relay.take(t, "alerts", alertmanager(alert("Disk", "aa", "firing", "Disk full")))
	relay.settled(t, "alerts", 10*time.Second)
	require.Equal(t, []string{"admitted"}, outcomes(relay.take(t, "alerts", alertmanager(alert("Disk", "aa", "resolved", "Disk full")))))
	relay.settled(t, "alerts", 10*time.Second)
	posts := slack.Posts()
	require.Len(t, posts, 2)
	require.Equal(t, posts[0].TS, posts[1].Thread)
	require.Equal(t, int64(2), relay.status(t, "alerts").Levels[0].Used)
}

// A resolve whose firing still waits takes its place and its slot.
func TestAResolveSupersedesItsWaitingFiring(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_PACE=1s", "RELAY_CHANNEL_ALERTS_BURST=1")...)
	relay.take(t, "alerts", []event{{Title: "first"}})
	relay.take(t, "alerts", alertmanager(alert("Disk", "aa", "firing", "Disk full"), alert("Disk", "bb", "firing", "Other")))
	require.Equal(t, []string{"admitted"}, outcomes(relay.take(t, "alerts", alertmanager(alert("Disk", "aa", "resolved", "Disk full")))))
	status := relay.settled(t, "alerts", 20*time.Second)
	require.Equal(t, ratelimit.Ledger{Received: 4, Admitted: 4, Delivered: 3, Superseded: 1}, status.Ledger)
	require.Equal(t, int64(3), status.Levels[0].Used)
	var said []string
	for _, post := range slack.Posts() {
		said = append(said, post.Text)
	}
	require.Equal(t, []string{"🟡 *first*", "✅ *Resolved: Disk full*", "🔴 *Other*"}, said)
}

func TestBundles(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_BUNDLE=webhook", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2",
		"RELAY_CHANNEL_ALERTS_RESOLVES=edit")...)
	var group []map[string]any
	for i := range 37 {
		group = append(group, alert("Disk", fmt.Sprint("disk", i), "firing", fmt.Sprint("Disk full on db-", i)))
	}
	group = append(group, alert("Memory", "mem", "firing", "Memory"))
	receipt := relay.take(t, "alerts", alertmanager(group...))
	require.Equal(t, []int{38, 2, 36}, []int{receipt.Received, receipt.Admitted, receipt.Merged})
	again := relay.take(t, "alerts", alertmanager(append(group[:37:37], alert("Disk", "new", "firing", "Disk full on db-new"))...))
	require.Equal(t, []int{37, 1}, []int{again.Duplicate, again.Admitted}, "a group that grew: only what is new")
	refused := relay.take(t, "alerts", alertmanager(alert("Disk", "x", "firing", "x"), alert("Disk", "y", "firing", "y")))
	require.Equal(t, []string{"dropped category", "dropped category"}, outcomes(refused), "a refused bundle drops them all")
	status := relay.settled(t, "alerts", 10*time.Second)
	require.Equal(t, ratelimit.Ledger{Received: 78, Admitted: 3, Merged: 36, Duplicate: 37, Dropped: 2, Delivered: 3}, status.Ledger)
	posts := slack.Posts()
	require.Len(t, posts, 3)
	require.Equal(t, "🔴 *disk* — 37 firing", posts[0].Text)
	require.Contains(t, posts[0].Form.Get("attachments"), "… and 27 more")

	relay.take(t, "alerts", alertmanager(alert("Disk", "disk3", "resolved", "Disk full on db-3")))
	require.Eventually(t, func() bool { return len(slack.Posts()[0].Edits) == 1 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "🔴 *disk* — 36 firing, 1 resolved", slack.Posts()[0].Edits[0].Get("text"))
}

// What does not fit waits for a slot, and what waits too long is dropped.
func TestOverflowDelay(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]string{"redis": redistest.Start(t).URL, "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack := startSlack(t)
			env := fast(redis, slack, "RELAY_CHANNEL_ALERTS_OVERFLOW=delay", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2",
				"RELAY_CHANNEL_ALERTS_WINDOW=2s", "RELAY_CHANNEL_ALERTS_MAX_DELAYED=3")
			relay := startRelay(t, env...)
			var all []event
			for i := range 6 {
				all = append(all, event{Category: "c", Title: fmt.Sprint(i)})
			}
			require.Equal(t, []string{"admitted", "admitted", "delayed", "delayed", "delayed", "dropped full"}, outcomes(relay.take(t, "alerts", all)))
			require.Zero(t, relay.status(t, "alerts").Ledger.Imbalance())
			require.Eventually(t, func() bool { return len(slack.Posts()) == 5 }, 20*time.Second, 20*time.Millisecond)
			status := relay.settled(t, "alerts", 10*time.Second)
			require.Equal(t, ratelimit.Ledger{Received: 6, Admitted: 5, Dropped: 1, Delivered: 5}, status.Ledger)
			for i, post := range slack.Posts() {
				require.Contains(t, post.Text, fmt.Sprint(i), "first in, first out")
			}
		})
	}
}

// What the category refuses is counted on its last message.
func TestOverflowMerge(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_OVERFLOW=merge", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1")...)
	require.Equal(t, []string{"admitted", "merged", "merged"}, outcomes(relay.take(t, "alerts",
		[]event{{Category: "c", Title: "shown"}, {Category: "c", Title: "one more"}, {Category: "c", Title: "and another"}})))
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 && len(slack.Posts()[0].Edits) == 1 }, 10*time.Second, 10*time.Millisecond)
	edit := slack.Posts()[0].Edits[0]
	require.Contains(t, edit.Get("text"), "shown")
	require.Contains(t, edit.Get("attachments"), "and 2 more")
	require.Contains(t, edit.Get("attachments"), "and another")
	require.Equal(t, ratelimit.Ledger{Received: 3, Admitted: 1, Merged: 2, Delivered: 1}, relay.settled(t, "alerts", 10*time.Second).Ledger)
}

// Where Slack cannot be asked, severity decides: sent again, or a dead letter.
func TestWhatMayHaveBeenPosted(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	slack.NoHistory = true
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_ON_UNKNOWN=drop")...)
	slack.Script("C0ALERTS", fakeslack.Reply{Cut: true, Posted: true})
	relay.take(t, "alerts", []event{{Title: "first"}, {Title: "second"}})
	status := relay.settled(t, "alerts", 20*time.Second)
	require.Equal(t, ratelimit.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, status.Ledger)
	require.Len(t, slack.Posts(), 2)
	require.Contains(t, relay.output.String(), "give the app channels:history")
	require.Equal(t, int64(2), status.Levels[0].Used, "its slot is not given back: it may have appeared")

	hook := startRelay(t, "RELAY_REDIS_URL="+redis.URL, "RELAY_CHANNEL_DEFAULT_SLACK_WEBHOOK_URL="+slack.WebhookURL("B0", "s3cret"), "RELAY_CHANNEL_DEFAULT_PACE=1ms")
	slack.Script("B0", fakeslack.Reply{Cut: true, Posted: true})
	hook.take(t, "default", event{Title: "twice"})
	hook.settled(t, "default", 20*time.Second)
	require.Len(t, slack.Posts(), 4, "by default it is sent again")
	require.Equal(t, "1", hook.metric(t, `relay_messages_total{channel="default",result="resent"}`))
}

// Stale messages expire, and one digest says so; nothing floods the channel.
func TestAfterALongOutageOfSlack(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_TTL=2s", "RELAY_CHANNEL_ALERTS_DIGEST=true")...)
	slack.Script("C0ALERTS", fakeslack.Reply{Status: 429, RetryAfter: "3"})
	var all []event
	for i := range 9 {
		all = append(all, event{Category: "c", Title: fmt.Sprint("old ", i)})
	}
	relay.take(t, "alerts", all)
	require.Eventually(t, func() bool {
		return len(digests(slack)) == 1 && strings.Contains(digests(slack)[0], "9 messages expired")
	},
		60*time.Second, 50*time.Millisecond)
	status := relay.settled(t, "alerts", 10*time.Second)
	require.Equal(t, ratelimit.Ledger{Received: 9, Admitted: 9, Expired: 9}, status.Ledger)
	require.Len(t, slack.Posts(), 1)
	require.Zero(t, status.Levels[0].Used, "their slots are given back")
}

// Dead letters: the fallback gets a copy, the operators are told, the slot comes back; listed, sent again, deleted.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	var told sync.Map
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Text string }
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			told.Store(body.Text, true)
		}
	}))
	t.Cleanup(hook.Close)
	env := fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_FALLBACK_SLACK_CHANNEL=C0FALLBACK", "RELAY_OPERATIONS_WEBHOOK_URL="+hook.URL,
		"RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2")
	relay := startRelay(t, env...)
	slack.Script("C0ALERTS", fakeslack.APIError("invalid_blocks"), fakeslack.Reply{}, fakeslack.APIError("is_archived"), fakeslack.APIError("is_archived"))
	relay.take(t, "alerts", []event{{ID: "1", Category: "c", Title: "said plainly"}, {ID: "2", Category: "c", Title: "refused"}})
	status := relay.settled(t, "alerts", 10*time.Second)
	require.Equal(t, ratelimit.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, status.Ledger)
	require.Equal(t, int64(1), status.Levels[0].Used, "the slot of what never appeared is given back")
	require.Eventually(t, func() bool { return len(slack.Posts()) == 2 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "C0FALLBACK 🟡 *refused*", slack.Posts()[1].Channel+" "+slack.Posts()[1].Text)
	require.Empty(t, slack.Posts()[0].Form.Get("attachments"), "plain text")
	require.Eventually(t, func() bool {
		found := false
		told.Range(func(text, _ any) bool {
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
	relay.take(t, "alerts", event{ID: "3", Category: "c", Title: "also refused"})
	relay.settled(t, "alerts", 10*time.Second)
	replayed, stderr, code := runRelay(t, cli, "dead", "replay", id)
	require.Zero(t, code, stderr)
	require.Contains(t, replayed, "admitted  category c  id replay-dead-"+id)
	status = relay.settled(t, "alerts", 10*time.Second)
	require.Equal(t, ratelimit.Ledger{Received: 4, Admitted: 4, Delivered: 2, Failed: 2}, status.Ledger, "it is received again")
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

func TestDrops(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]string{"redis": redistest.Start(t).URL, "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack := startSlack(t)
			env := fast(redis, slack, "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1", "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_WINDOW=3s")
			relay := startRelay(t, env...)
			relay.take(t, "alerts", []event{{ID: "1", Category: "c", Title: "shown"}, {ID: "2", Category: "c", Title: "dropped"}})
			relay.take(t, "alerts", event{ID: "3", Category: "c", Title: "refused by the cache"})
			cli := append(env, "RELAY_OPS_LISTEN="+strings.TrimPrefix(relay.ops, "http://"))
			list, stderr, code := runRelay(t, cli, "drops", "list")
			require.Zero(t, code, stderr)
			require.Regexp(t, `(?s)refused by the cache.*category +1/1 +\S+s +warning dropped`, list)
			explained, stderr, code := runRelay(t, cli, "drops", "explain", "2")
			require.Zero(t, code, stderr)
			require.Contains(t, explained, "the limit of the category was reached: 1 of 1 used")
			_, stderr, code = runRelay(t, cli, "drops", "explain", "nobody")
			require.Equal(t, 1, code)
			require.Contains(t, stderr, "its drop was counted and not kept (2 were counted in all")
			require.Eventually(t, func() bool { return relay.status(t, "alerts").Levels[0].Used == 0 }, 10*time.Second, 20*time.Millisecond)
			replayed, stderr, code := runRelay(t, cli, "drops", "replay", "2")
			require.Zero(t, code, stderr)
			require.Contains(t, replayed, "admitted")
			relay.settled(t, "alerts", 10*time.Second)
			require.Contains(t, slack.Posts()[1].Text, "dropped")
		})
	}
}

// Texts of events are for this machine, or for who has the admin token.
func TestTextsNeedTheToken(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_OPS_LISTEN=:0", "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1")...)
	relay.take(t, "alerts", []event{{ID: "1", Title: "secret words"}, {ID: "2", Title: "secret words"}})
	path := relay.ops + "/api/v1/channels/alerts/drops"
	_, answer := request(t, http.MethodGet, path, "", nil)
	require.NotContains(t, string(answer), "secret words")
	require.Contains(t, string(answer), `"category":"uncategorized"`)
	_, answer = request(t, http.MethodGet, path, "4dm1n", nil)
	require.Contains(t, string(answer), "secret words")
	for _, c := range []struct{ method, path, token, code string }{
		{http.MethodPost, "/2/replay", "", "unauthorized"}, {http.MethodGet, "?limit=many", "", "bad_field"}, {http.MethodGet, "/nobody", "", "not_found"},
	} {
		_, answer = request(t, c.method, path+c.path, c.token, nil)
		require.Contains(t, string(answer), c.code)
	}
}

// A token that is refused stops all its channels, and the operators are told once.
func TestARefusedTokenStopsAllItsChannels(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNELS=alerts,other", "RELAY_CHANNEL_OTHER_SLACK_CHANNEL=C0OTHER")...)
	slack.Script("C0ALERTS", fakeslack.APIError("account_inactive"))
	relay.take(t, "alerts", event{Title: "kept"})
	require.Eventually(t, func() bool { return relay.status(t, "other").State.Reason == "account_inactive" }, 10*time.Second, 10*time.Millisecond)
	relay.take(t, "other", event{Title: "kept too"})
	require.Equal(t, "1", relay.metric(t, `relay_channel_paused{channel="other",reason="account_inactive"}`))
	require.Empty(t, slack.Posts())
}

// A rolling restart under steady traffic: no webhook is refused, nothing is lost, nothing comes twice.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_DRAIN=400ms", "RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=100000", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=100000")
	var mu sync.Mutex
	replicas := []*process{startRelay(t, env...), startRelay(t, env...), startRelay(t, env...)}
	ready := func(i int) *process { // as a load balancer that looks at /readyz
		mu.Lock()
		all := append([]*process{}, replicas...)
		mu.Unlock()
		for range all {
			i++
			relay := all[i%len(all)]
			response, err := client.Get(relay.ops + "/readyz")
			if err != nil {
				continue
			}
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return relay
			}
		}
		return all[0]
	}
	stop, posted := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				posted <- n
				return
			default:
			}
			response, err := client.Post(ready(n).public+"/hooks/alerts", "application/json", strings.NewReader(fmt.Sprintf(`{"title":"%05d"}`, n)))
			if err != nil {
				t.Errorf("webhook %d refused: %v", n, err)
				continue
			}
			response.Body.Close()
			if response.StatusCode != http.StatusAccepted {
				t.Errorf("webhook %d refused: %s", n, response.Status)
			}
		}
	}()
	for i := range 3 {
		fresh := startRelay(t, env...)
		mu.Lock()
		old := replicas[i]
		replicas[i] = fresh
		mu.Unlock()
		old.signal(syscall.SIGTERM)
		<-old.exited
		require.Equal(t, 0, old.cmd.ProcessState.ExitCode(), "%s", old.output)
	}
	close(stop)
	n := <-posted
	status := replicas[0].settled(t, "alerts", 60*time.Second)
	require.Equal(t, ratelimit.Ledger{Received: int64(n), Admitted: int64(n), Delivered: int64(n)}, status.Ledger)
	require.Len(t, slack.Posts(), n)
	t.Logf("%d webhooks while three replicas were replaced: 0 refused, 0 lost, 0 twice", n)
}
