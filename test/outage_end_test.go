package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
	"slackrelay/store"
)

// loseRedis kills Redis, and waits until the relay decides without it. It spends one slot of the channel.
func (p *process) loseRedis(tb testing.TB, redis *redistest.Server) {
	tb.Helper()
	redis.Kill()
	require.Eventually(tb, func() bool {
		status, answer := request(tb, http.MethodPost, p.public+"/hooks/alerts", "", []byte(`{"id":"cut","title":"until it is noticed"}`))
		var receipt pipeline.Receipt
		return status == http.StatusAccepted && json.Unmarshal(answer, &receipt) == nil && !receipt.Durable
	}, 10*time.Second, 10*time.Millisecond)
}

// countPosts is how often a text was posted.
func countPosts(slack *fakeslack.Server, text string) (n int) {
	for _, post := range slack.Posts() {
		if strings.Contains(post.Text, text) {
			n++
		}
	}
	return n
}

// deadLetters returns the reasons of the dead letters of the channel alerts, by the titles of their events.
func (p *process) deadLetters(tb testing.TB) map[string]string {
	tb.Helper()
	_, answer := request(tb, http.MethodGet, p.ops+"/api/v1/channels/alerts/dead", "", nil)
	var page struct {
		Dead []struct {
			Reason string
			Events []struct{ Title string }
		}
	}
	require.NoError(tb, json.Unmarshal(answer, &page), "%s", answer)
	reasons := map[string]string{}
	for _, letter := range page.Dead {
		reasons[letter.Events[0].Title] = letter.Reason
	}
	return reasons
}

// Its outcome is unknown when Redis returns; it is looked up by the name under which it was posted.
func TestUnknownSendIsLookedUpAfterAnOutage(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]fakeslack.Reply{
		"504":         {Status: http.StatusGatewayTimeout, Body: "upstream timed out", Posted: true},
		"cut":         {Posted: true, Cut: true},
		"it was lost": {Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack, redis := startSlack(t), redistest.Start(t, always...)
			relay := startRelay(t, fast(redis.URL, slack, "RELAY_REPLICAS=1", "RELAY_SLACK_SETTLE=2s")...)
			relay.post(t, "alerts", event{Title: "before"})
			relay.drained(t, "alerts", 10*time.Second)
			relay.loseRedis(t, redis)
			require.Eventually(t, func() bool { return countPosts(slack, "until it is noticed") == 1 }, 10*time.Second, 5*time.Millisecond)
			slack.Script("C0ALERTS", reply)
			requests := slack.Requests()
			require.Equal(t, 1, relay.post(t, "alerts", event{ID: "x", Title: "in doubt"}).Admitted)
			relay.logs(t, "delivery state unknown")
			redis.Up()
			relay.logs(t, "back on Redis")
			require.Contains(t, relay.output.String(), `"still_to_send":1`)
			status := relay.drained(t, "alerts", 20*time.Second)
			require.Equal(t, 1, countPosts(slack, "in doubt"))
			found := relay.metric(t, `relay_messages_total{channel="alerts",result="found"}`)
			if reply.Posted {
				require.Equal(t, "1", found)
				require.Equal(t, requests+1, slack.Requests())
			} else {
				require.NotEqual(t, "1", found)
				require.Equal(t, requests+2, slack.Requests())
			}
			require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 3}, status.Ledger)
			require.Equal(t, 1, relay.post(t, "alerts", event{ID: "x", Title: "in doubt"}).Duplicate)
		})
	}
}

// They are not posted again.
func TestDeadLettersOfAnOutageAreKept(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t, always...)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_REPLICAS=1", "RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=",
		"RELAY_CHANNEL_ALERTS_SLACK_WEBHOOK_URL="+slack.WebhookURL("C0ALERTS", "s3cret"), "RELAY_CHANNEL_ALERTS_ON_UNKNOWN=drop")...)
	relay.post(t, "alerts", event{Title: "before"})
	relay.drained(t, "alerts", 10*time.Second)
	relay.loseRedis(t, redis)
	require.Eventually(t, func() bool { return countPosts(slack, "until it is noticed") == 1 }, 10*time.Second, 5*time.Millisecond)
	slack.Script("C0ALERTS", fakeslack.Reply{Status: http.StatusGatewayTimeout, Body: "timed out", Posted: true},
		fakeslack.Reply{Status: http.StatusNotFound, Body: "no_service"})
	relay.post(t, "alerts", []event{{ID: "x", Title: "in doubt"}, {ID: "y", Title: "refused"}})
	require.Eventually(t, func() bool { return strings.Count(relay.output.String(), "message moved to the dead letters") == 2 },
		10*time.Second, 5*time.Millisecond)
	redis.Up()
	relay.logs(t, "back on Redis")
	require.Contains(t, relay.output.String(), `"still_to_send":0,"dead_letters":2`)
	status := relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, map[string]string{"in doubt": "unknown", "refused": "no_service"}, relay.deadLetters(t))
	require.Equal(t, store.Ledger{Received: 4, Admitted: 4, Delivered: 2, Failed: 2}, status.Ledger)
	require.EqualValues(t, 3, status.Levels[0].Used, "what was refused never appeared")
	require.Equal(t, 1, countPosts(slack, "in doubt"))
	require.Zero(t, countPosts(slack, "refused"))
	require.Equal(t, "0", relay.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
}

// The replica that admitted the event knows it.
func TestRepeatInAnOutageIsADuplicate(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"local", "open"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			slack, redis := startSlack(t), redistest.Start(t, always...)
			relay := startRelay(t, fast(redis.URL, slack, "RELAY_REPLICAS=1", "RELAY_CHANNEL_ALERTS_ON_REDIS_DOWN="+policy)...)
			relay.post(t, "alerts", event{ID: "x", Title: "posted once"})
			relay.drained(t, "alerts", 10*time.Second)
			relay.loseRedis(t, redis)
			receipt := relay.post(t, "alerts", []event{{ID: "x", Title: "posted once"}, {ID: "y", Title: "new"}})
			require.Equal(t, []string{"duplicate", "admitted"}, outcomes(receipt))
			require.True(t, relay.post(t, "alerts", event{ID: "x", Title: "posted once"}).Durable, "it is in Redis")
			redis.Up()
			relay.logs(t, "back on Redis")
			status := relay.drained(t, "alerts", 10*time.Second)
			require.Equal(t, 1, countPosts(slack, "posted once"))
			require.Equal(t, store.Ledger{Received: 5, Admitted: 3, Duplicate: 2, Delivered: 3}, status.Ledger)
		})
	}
}

func TestFiringPostedInAnOutageGetsItsRepeatAndResolve(t *testing.T) {
	t.Parallel()
	for _, resolves := range []string{"edit", "reply"} {
		t.Run(resolves, func(t *testing.T) {
			t.Parallel()
			slack, redis := startSlack(t), redistest.Start(t, always...)
			relay := startRelay(t, fast(redis.URL, slack, "RELAY_REPLICAS=1", "RELAY_CHANNEL_ALERTS_RESOLVES="+resolves,
				"RELAY_CHANNEL_ALERTS_REPEATS=merge", "RELAY_DEDUPE=1s")...)
			relay.post(t, "alerts", alertmanager(alert("Disk", "both", "firing", "Durable")))
			relay.drained(t, "alerts", 10*time.Second)
			relay.loseRedis(t, redis)
			require.Eventually(t, func() bool { // its time as a duplicate is over
				return relay.post(t, "alerts", alertmanager(alert("Disk", "both", "firing", "Durable"))).Admitted == 1
			}, 10*time.Second, 50*time.Millisecond)
			relay.post(t, "alerts", alertmanager(alert("Disk", "aa", "firing", "Without Redis")))
			require.Eventually(t, func() bool { return countPosts(slack, "Without Redis") == 1 && countPosts(slack, "Durable") == 2 },
				10*time.Second, 5*time.Millisecond)
			redis.Up()
			relay.logs(t, "back on Redis")
			for _, fingerprint := range []string{"aa", "both"} {
				require.Eventually(t, func() bool {
					return relay.post(t, "alerts", alertmanager(alert("Disk", fingerprint, "firing", "Again"))).Merged == 1
				}, 10*time.Second, 100*time.Millisecond)
				relay.post(t, "alerts", alertmanager(alert("Disk", fingerprint, "resolved", "Over")))
			}
			relay.drained(t, "alerts", 10*time.Second)
			shown := func(post fakeslack.Post) string {
				if len(post.Edits) == 0 {
					return ""
				}
				return post.Edits[len(post.Edits)-1].Get("attachments")
			}
			complete := func(post fakeslack.Post) bool {
				repeated, over := strings.Contains(shown(post), "repeated"), strings.Contains(shown(post), "resolved after")
				for _, other := range slack.Posts() {
					over = over || resolves == "reply" && other.Thread == post.TS && strings.Contains(other.Text, "Over")
				}
				return repeated && over
			}
			require.Eventually(t, func() bool {
				n := 0
				for _, post := range slack.Posts() {
					if complete(post) {
						n++
					}
				}
				return n == 2
			}, 40*time.Second, 20*time.Millisecond, "%s", fmt.Sprint(slack.Posts()))
			require.Equal(t, "0", relay.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
		})
	}
}
