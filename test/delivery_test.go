package test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
)

// digests returns the posts that are digests, each as it is after its last edit.
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

// Three replicas drop events in one window, and the replica that claimed the digest is killed.
func TestDigestIsPostedOnceWithTheRightCount(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]func(slack *fakeslack.Server) []string{
		"by bot token": func(*fakeslack.Server) []string { return nil },
		"by incoming webhook": func(slack *fakeslack.Server) []string {
			return []string{
				"RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=",
				"RELAY_CHANNEL_ALERTS_SLACK_WEBHOOK_URL=" + slack.WebhookURL("C0ALERTS", "s3cret"),
			}
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
				receipt := replicas[i%2].post(t, "alerts", []event{{Category: fmt.Sprint("c", i%3), Title: "x"}, {Category: "busy", Title: "y"}})
				dropped += receipt.Dropped
			}
			require.Equal(t, 60-4*2, dropped)
			require.Eventually(t, func() bool { return replicas[0].status(t, "alerts").Ledger.Dropped == int64(dropped) }, 5*time.Second,
				10*time.Millisecond)
			require.Eventually(t, func() bool { // its sender is killed at once
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

func TestOverflowDelayWaitsForASlotOrDropsWhenTooLate(t *testing.T) {
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
			require.Equal(t, []string{"admitted", "admitted", "delayed", "delayed", "delayed", "dropped full"},
				outcomes(relay.post(t, "alerts", all)))
			require.Zero(t, relay.status(t, "alerts").Ledger.Imbalance())
			require.Eventually(t, func() bool { return len(slack.Posts()) == 5 }, 20*time.Second, 20*time.Millisecond)
			status := relay.drained(t, "alerts", 10*time.Second)
			require.Equal(t, store.Ledger{Received: 6, Admitted: 5, Dropped: 1, Delivered: 5}, status.Ledger)
			for i, post := range slack.Posts() {
				require.Contains(t, post.Text, fmt.Sprint(i), "first in, first out")
			}
		})
	}
}

func TestOverflowMergeCountsOnTheLastMessage(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_OVERFLOW=merge", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1")...)
	require.Equal(t, []string{"admitted", "merged", "merged"}, outcomes(relay.post(t, "alerts",
		[]event{{Category: "c", Title: "shown"}, {Category: "c", Title: "one more"}, {Category: "c", Title: "and another"}})))
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 && len(slack.Posts()[0].Edits) == 1 }, 10*time.Second,
		10*time.Millisecond)
	edit := slack.Posts()[0].Edits[0]
	require.Contains(t, edit.Get("text"), "shown")
	require.Contains(t, edit.Get("attachments"), "and 2 more")
	require.Contains(t, edit.Get("attachments"), "and another")
	require.Equal(t, store.Ledger{Received: 3, Admitted: 1, Merged: 2, Delivered: 1}, relay.drained(t, "alerts", 10*time.Second).Ledger)
}

// A message with an unknown outcome is sent again, or becomes a dead letter.
func TestOnUnknownDecidesWhereSlackCannotBeAsked(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	slack.NoHistory = true
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_ON_UNKNOWN=drop")...)
	slack.Script("C0ALERTS", fakeslack.Reply{Cut: true, Posted: true})
	relay.post(t, "alerts", []event{{Title: "first"}, {Title: "second"}})
	status := relay.drained(t, "alerts", 20*time.Second)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, status.Ledger)
	require.Len(t, slack.Posts(), 2)
	require.Contains(t, relay.output.String(), "give the app channels:history")
	require.Equal(t, int64(2), status.Levels[0].Used, "its slot is not given back: it may have appeared")

	hook := startRelay(t, "RELAY_REDIS_URL="+redis.URL, "RELAY_CHANNEL_DEFAULT_SLACK_WEBHOOK_URL="+slack.WebhookURL("B0", "s3cret"),
		"RELAY_CHANNEL_DEFAULT_PACE=1ms")
	slack.Script("B0", fakeslack.Reply{Cut: true, Posted: true})
	hook.post(t, "default", event{Title: "twice"})
	hook.drained(t, "default", 20*time.Second)
	require.Len(t, slack.Posts(), 4, "by default it is sent again")
	require.Equal(t, "1", hook.metric(t, `relay_messages_total{channel="default",result="resent"}`))
}

// One digest counts them.
func TestStaleMessagesExpireInsteadOfFloodingTheChannel(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_TTL=2s", "RELAY_CHANNEL_ALERTS_DIGEST=true")...)
	slack.Script("C0ALERTS", fakeslack.Reply{Status: 429, RetryAfter: "3"})
	var all []event
	for i := range 9 {
		all = append(all, event{Category: "c", Title: fmt.Sprint("old ", i)})
	}
	relay.post(t, "alerts", all)
	require.Eventually(t, func() bool {
		return len(digests(slack)) == 1 && strings.Contains(digests(slack)[0], "9 messages expired")
	},
		60*time.Second, 50*time.Millisecond)
	status := relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, store.Ledger{Received: 9, Admitted: 9, Expired: 9}, status.Ledger)
	require.Len(t, slack.Posts(), 1)
	require.Zero(t, status.Levels[0].Used, "their slots are given back")
}

func TestRefusedTokenPausesAllItsChannels(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNELS=alerts,other", "RELAY_CHANNEL_OTHER_SLACK_CHANNEL=C0OTHER")...)
	slack.Script("C0ALERTS", fakeslack.APIError("account_inactive"))
	relay.post(t, "alerts", event{Title: "kept"})
	require.Eventually(t, func() bool { return relay.status(t, "other").State.Reason == "account_inactive" }, 10*time.Second,
		10*time.Millisecond)
	relay.post(t, "other", event{Title: "kept too"})
	require.Equal(t, "1", relay.metric(t, `relay_channel_paused{channel="other",reason="account_inactive"}`))
	require.Empty(t, slack.Posts())
}

// Webhooks arrive all the time; no message is posted twice.
func TestRollingRestartRefusesAndLosesNothing(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_DRAIN=400ms", "RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=100000",
		"RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=100000")
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
	status := replicas[0].drained(t, "alerts", 60*time.Second)
	require.Equal(t, store.Ledger{Received: int64(n), Admitted: int64(n), Delivered: int64(n)}, status.Ledger)
	require.Len(t, slack.Posts(), n)
	t.Logf("%d webhooks while three replicas were replaced: 0 refused, 0 lost, 0 twice", n)
}
