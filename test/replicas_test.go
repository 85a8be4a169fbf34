package test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
	"slackrelay/store"
)

// fast returns the variables of a relay whose channel alerts posts without a pace.
func fast(redisURL string, slack *fakeslack.Server, more ...string) []string {
	return append([]string{
		"RELAY_REDIS_URL=" + redisURL, "RELAY_SLACK_TOKEN=xoxb-test", "RELAY_SLACK_API_URL=" + slack.APIURL(),
		"RELAY_CHANNELS=alerts", "RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=C0ALERTS",
		"RELAY_CHANNEL_ALERTS_PACE=1ms", "RELAY_CHANNEL_ALERTS_BURST=100", "RELAY_CHANNEL_ALERTS_DIGEST=false",
		"RELAY_SLACK_SETTLE=100ms",
	}, more...)
}

// repeat runs a test once, or SOAK times.
func repeat(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	times, err := strconv.Atoi(os.Getenv("SOAK")) //nolint:forbidigo // how long to test is not a setting of the relay
	if err != nil {
		times = 1
	}
	for i := range times {
		t.Run(fmt.Sprint(i), test)
	}
}

// The main promise: of 20 categories of 10 events each, through two replicas at once, exactly 100 reach Slack and exactly 100
// are counted as dropped, on either replica.
func TestTwoReplicasAdmitExactly100(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]int{"event by event": 1, "batches of 25": 25, "one batch each": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repeat(t, func(t *testing.T) { twoReplicas(t, batch) })
		})
	}
}

func twoReplicas(t *testing.T, batch int) {
	t.Helper()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack)
	replicas := []*process{startRelay(t, env...), startRelay(t, env...)}

	var posting sync.WaitGroup
	for r, replica := range replicas {
		for s := range 4 { // each replica gets half of the events, from four senders
			posting.Go(func() {
				for i := s * batch; i < 100; i += 4 * batch {
					var events []event
					for j := i; j < min(i+batch, 100); j++ {
						events = append(events, event{Category: fmt.Sprintf("category-%02d", j%20), Title: fmt.Sprintf("%d-%d", r, j)})
					}
					replica.post(t, "alerts", events)
				}
			})
		}
	}
	posting.Wait()
	require.Eventually(t, func() bool { // each replica counts by itself what it knew to be closed, and folds it in soon
		return replicas[0].status(t, "alerts").Ledger.Received == 200
	}, 5*time.Second, 20*time.Millisecond)
	status := replicas[0].drained(t, "alerts", 30*time.Second)

	require.Len(t, slack.Posts(), 100)
	require.Equal(t, store.Ledger{Received: 200, Admitted: 100, Dropped: 100, Delivered: 100}, status.Ledger)
	require.Equal(t, status.Ledger, replicas[1].status(t, "alerts").Ledger, "both replicas say the same")
	require.Len(t, status.Categories, 20)
	var used, admitted, dropped int64
	for _, c := range status.Categories {
		require.LessOrEqual(t, c.Used, int64(10))
		require.Equal(t, c.Used, c.Admitted)
		used, admitted, dropped = used+c.Used, admitted+c.Admitted, dropped+c.Dropped
	}
	require.Equal(t, int64(100), used)
	require.Equal(t, int64(100), admitted)
	require.Equal(t, int64(100), dropped)
	titles := map[string]bool{}
	for _, post := range slack.Posts() {
		titles[post.Text] = true
	}
	require.Len(t, titles, 100, "nothing arrived twice")
	for _, replica := range replicas {
		require.Equal(t, "0", replica.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
		require.Equal(t, 0, replica.stop(), "%s", replica.output)
	}
}

// While the replica with the longer windows lives, the other one counts in them too, from its first webhook on; not after it
// has ended.
func TestWindowsChangeReplicaByReplica(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	configured := func(limits ...string) *process { return startRelay(t, fast(redis.URL, slack, limits...)...) }
	old := configured("RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=5", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=5", "RELAY_CHANNEL_ALERTS_WINDOW=1h")
	take := func(relay *process, category string) string {
		return relay.post(t, "alerts", event{Category: category, Title: "disk full"}).Events[0].Outcome
	}
	for i := range 5 {
		require.Equal(t, "admitted", take(old, fmt.Sprint("c", i%2)))
	}
	replaced := configured("RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=10", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=4", "RELAY_CHANNEL_ALERTS_WINDOW=30m")
	require.Equal(t, "dropped", take(replaced, "c0"), "the hour is full")
	status := replaced.status(t, "alerts")
	require.Len(t, status.Levels, 2)
	require.Equal(t, int64(10), status.Levels[0].Limit)
	require.Equal(t, int64(5), status.Levels[1].Limit)
	require.Equal(t, []float64{1800, 3600}, []float64{status.Levels[0].Per, status.Levels[1].Per})
	require.Len(t, status.Categories, 2)
	require.Equal(t, int64(3), status.Categories[0].Used)
	require.Equal(t, int64(2), status.Categories[1].Used)

	require.Equal(t, 0, old.stop(), "%s", old.output)
	require.Eventually(t, func() bool { return take(replaced, "c0") == "admitted" }, 10*time.Second, 20*time.Millisecond)
	require.Len(t, replaced.status(t, "alerts").Levels, 1)
}

// Category limit 3, channel limit 10, window 60 s: 3 are sent and 7 dropped, in that order.
func TestThreeOfTenIdenticalEventsAreSent(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=10",
		"RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=3", "RELAY_CHANNEL_ALERTS_WINDOW=60s")...)
	var got []string
	for range 10 {
		receipt := relay.post(t, "alerts", event{Category: "errors", Title: "the same body"})
		require.True(t, receipt.Durable)
		got = append(got, receipt.Events[0].Outcome+" "+receipt.Events[0].Level)
	}
	require.Equal(t, append(repeated("admitted ", 3), repeated("dropped category", 7)...), got)
	status := relay.drained(t, "alerts", 10*time.Second)
	require.Len(t, slack.Posts(), 3)
	require.Equal(t, pipeline.LevelStatus{Level: "channel", Limit: 10, Per: 60, Used: 3}, status.Levels[0])
	require.InDelta(t, 60, status.Categories[0].RetryAfter, 10)
	status.Categories[0].RetryAfter = 0
	require.Equal(t, []pipeline.CategoryStatus{{Category: "errors", Used: 3, Limit: 3, Per: 60, Admitted: 3, Dropped: 7}}, status.Categories)
}

func repeated(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

// The other one delivers as soon as the lease ends. A message that was in flight is looked up before it is sent again.
func TestKilledReplicaLosesNothing(t *testing.T) {
	t.Parallel()
	for name, inFlight := range map[string]bool{"between messages": false, "a message in flight": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repeat(t, func(t *testing.T) { killOneReplica(t, inFlight) })
		})
	}
}

func killOneReplica(t *testing.T, inFlight bool) {
	t.Helper()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_PACE=5ms", "RELAY_CHANNEL_ALERTS_BURST=1",
		"RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=100", "RELAY_LEASE=2s", "RELAY_SLACK_TIMEOUT=1s")
	replicas := []*process{startRelay(t, env...), startRelay(t, env...)}
	if inFlight { // the 30th message is posted, and its answer does not come
		slack.Script("C0ALERTS", make([]fakeslack.Reply, 29)...)
		slack.Script("C0ALERTS", fakeslack.Reply{Posted: true, Delay: 10 * time.Second})
	}
	var events []event
	for i := range 100 {
		events = append(events, event{Title: fmt.Sprintf("message %03d", i)})
	}
	replicas[0].post(t, "alerts", events)
	require.Eventually(t, func() bool { return len(slack.Posts()) >= 30 }, 10*time.Second, time.Millisecond)

	owner := redis.Client().HGet(t.Context(), "relay:{alerts}:lease:alerts", "owner").Val()
	killed, survivor := replicas[0], replicas[1]
	if strings.Contains(owner, fmt.Sprintf("-%d-", survivor.cmd.Process.Pid)) {
		killed, survivor = survivor, killed
	}
	killed.kill()
	at, sent := time.Now(), len(slack.Posts())
	status := survivor.drained(t, "alerts", 20*time.Second)

	times := map[string]int{}
	var order []string
	for _, post := range slack.Posts() {
		if times[post.Text]++; times[post.Text] == 1 {
			order = append(order, post.Text)
		}
	}
	require.Len(t, order, 100, "nothing is lost")
	require.IsIncreasing(t, order, "the order is kept")
	require.Len(t, slack.Posts(), 100, "nothing arrives twice")
	require.Equal(t, store.Ledger{Received: 100, Admitted: 100, Delivered: 100}, status.Ledger)
	t.Logf("killed after %d of 100; all were there %s after the kill", sent, time.Since(at).Round(time.Millisecond))
}

// SIGTERM: not ready at once, webhooks accepted for RELAY_DRAIN, then the messages in flight are finished and the lease ends.
func TestDrainAcceptsWebhooksAndFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_DRAIN=3s")
	relay := startRelay(t, env...)
	status, _ := request(t, "GET", relay.ops+"/readyz", "", nil)
	require.Equal(t, 200, status)

	slack.Script("C0ALERTS", fakeslack.Reply{
		Delay: 1500 * time.Millisecond, Posted: true,
		Body: `{"ok":true,"channel":"C0ALERTS","ts":"1.000001"}`,
	})
	relay.post(t, "alerts", event{Title: "in flight while stopping"})
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 }, 5*time.Second, time.Millisecond)
	relay.signal(syscall.SIGTERM)
	require.Eventually(t, func() bool {
		status, body := request(t, "GET", relay.ops+"/readyz", "", nil)
		return status == 503 && strings.Contains(string(body), "draining")
	}, 2500*time.Millisecond, 5*time.Millisecond)
	receipt := relay.post(t, "alerts", event{Title: "accepted while draining"})
	require.Equal(t, 1, receipt.Admitted)
	<-relay.exited
	require.Equal(t, 0, relay.cmd.ProcessState.ExitCode(), "%s", relay.output)
	require.Zero(t, redis.Client().Exists(t.Context(), "relay:{alerts}:lease:alerts").Val(), "the lease is given up")

	next := startRelay(t, env...)
	done := next.drained(t, "alerts", 10*time.Second)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, done.Ledger)
	require.Len(t, slack.Posts(), 2, "what was in flight was acknowledged, and not sent again")
}
