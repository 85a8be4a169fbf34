package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
)

// outageRun is what two replicas did while Redis was killed and came back under load.
type outageRun struct {
	before, during, after tally
	posts                 int
	lost                  string // relay_redis_state_lost_total
	replicas              []*process
}

// tally counts answers.
type tally struct{ admitted, dropped, duplicate, refused int }

func (t *tally) add(status int, answer []byte) {
	var receipt pipeline.Receipt
	if status != http.StatusAccepted || json.Unmarshal(answer, &receipt) != nil {
		t.refused++
		return
	}
	t.admitted, t.dropped, t.duplicate = t.admitted+receipt.Admitted, t.dropped+receipt.Dropped, t.duplicate+receipt.Duplicate
}

// post sends n events to each replica, from two senders each.
func post(tb testing.TB, replicas []*process, prefix string, n int) tally {
	tb.Helper()
	var mu sync.Mutex
	var all tally
	var senders sync.WaitGroup
	for r, replica := range replicas {
		for s := range 2 {
			senders.Go(func() {
				for i := range n / 2 {
					body, _ := json.Marshal(event{ID: fmt.Sprint(prefix, r, s, i), Category: "disk", Title: prefix})
					status, answer := request(tb, http.MethodPost, replica.public+"/hooks/alerts", "", body)
					mu.Lock()
					all.add(status, answer)
					mu.Unlock()
				}
			})
		}
	}
	senders.Wait()
	return all
}

const outageLimit = 40

func runOutage(t *testing.T, policy string, slack *fakeslack.Server, redisArgs ...string) outageRun {
	t.Helper()
	redis := redistest.Start(t, redisArgs...)
	env := fast(redis.URL, slack, "RELAY_REPLICAS=2", "RELAY_CHANNEL_ALERTS_ON_REDIS_DOWN="+policy,
		fmt.Sprint("RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=", outageLimit), "RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=1000",
		"RELAY_CHANNEL_ALERTS_WINDOW=1h")
	run := outageRun{replicas: []*process{startRelay(t, env...), startRelay(t, env...)}}
	run.before = post(t, run.replicas, "before", 10)
	redis.Kill()
	run.during = post(t, run.replicas, "during", 60)
	for _, replica := range run.replicas {
		status, answer := request(t, http.MethodGet, replica.ops+"/readyz", "", nil)
		require.Equal(t, policy == "closed", status == http.StatusServiceUnavailable, "%s", answer)
		require.Contains(t, string(answer), "Redis cannot be reached")
		require.Equal(t, "0", replica.metric(t, "relay_redis_up"))
		require.Equal(t, "1", replica.metric(t, `relay_channel_fallback{channel="alerts",policy="`+policy+`"}`))
		require.EqualValues(t, policy, replica.status(t, "alerts").State.Fallback)
	}
	redis.Up()
	for _, replica := range run.replicas {
		require.Eventually(t, func() bool {
			_, answer := request(t, http.MethodGet, replica.ops+"/readyz", "", nil)
			return string(answer) == `{"status":"ok","reasons":[]}`+"\n"
		}, 20*time.Second, 10*time.Millisecond)
		replica.logs(t, "going on without Redis")
		replica.logs(t, "back on Redis")
	}
	run.after = post(t, run.replicas, "after", 60)
	status := run.replicas[0].drained(t, "alerts", 20*time.Second)
	run.posts, run.lost = len(slack.Posts()), run.replicas[0].metric(t, "relay_redis_state_lost_total")
	for _, replica := range run.replicas {
		require.Equal(t, "0", replica.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
	}
	t.Logf("%s: before %+v, during %+v, after %+v; %d posts, ledger %+v", policy, run.before, run.during, run.after, run.posts, status.Ledger)
	return run
}

var always = []string{"--appendonly", "yes", "--appendfsync", "always"}

// Redis is killed under load and returns with its data. All that was admitted is sent once, and no limit is exceeded by more
// than the policy allows.
func TestOutagePoliciesBoundWhatIsAdmitted(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		run := runOutage(t, "local", startSlack(t), always...)
		total := run.before.admitted + run.during.admitted + run.after.admitted
		require.Equal(t, 20, run.before.admitted)
		require.Positive(t, run.during.admitted)
		require.LessOrEqual(t, run.during.admitted, outageLimit, "in a window inside the outage")
		require.LessOrEqual(t, total, 2*outageLimit-outageLimit/2, "in one that spans its start")
		require.GreaterOrEqual(t, total, outageLimit)
		require.Equal(t, total, run.posts)
		require.Equal(t, "0", run.lost)
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		run := runOutage(t, "closed", startSlack(t), always...)
		require.Equal(t, 120, run.during.refused)
		require.Equal(t, outageLimit, run.before.admitted+run.after.admitted)
		require.Equal(t, outageLimit, run.posts)
	})
	t.Run("open", func(t *testing.T) {
		t.Parallel()
		run := runOutage(t, "open", startSlack(t), always...)
		require.Equal(t, 120, run.during.admitted+run.during.refused)
		require.Zero(t, run.after.admitted, "what was admitted meanwhile counts")
		require.Equal(t, run.before.admitted+run.during.admitted, run.posts)
	})
	t.Run("local, and Redis comes back empty", func(t *testing.T) {
		t.Parallel()
		run := runOutage(t, "local", startSlack(t))
		total := run.before.admitted + run.during.admitted + run.after.admitted
		require.Equal(t, "1", run.lost, "it is reported")
		require.Greater(t, total, outageLimit)
		require.LessOrEqual(t, total, 2*outageLimit-outageLimit/2+outageLimit, "one limit more")
		run.replicas[0].logs(t, "redis lost its data: messages that were admitted and not yet posted are lost")
	})
}

func TestUnsentMessagesOfAnOutageAreSentOnceThroughRedis(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t, always...)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_REPLICAS=1", "RELAY_CHANNEL_ALERTS_PACE=300ms", "RELAY_CHANNEL_ALERTS_BURST=1")...)
	require.True(t, relay.post(t, "alerts", event{ID: "0", Title: "with Redis"}).Durable)
	redis.Kill()
	for i := range 6 {
		receipt := relay.post(t, "alerts", event{ID: fmt.Sprint("without", i), Title: fmt.Sprint("without ", i)})
		require.Equal(t, 1, receipt.Admitted)
		require.False(t, receipt.Durable)
	}
	redis.Up()
	relay.logs(t, "back on Redis")
	require.NotContains(t, relay.output.String(), `"still_to_send":0`)
	status := relay.drained(t, "alerts", 20*time.Second)
	require.EqualValues(t, 7, status.Ledger.Delivered)
	require.Zero(t, status.Ledger.Imbalance())
	titles := map[string]int{}
	for _, post := range slack.Posts() {
		titles[post.Text]++
	}
	require.Len(t, titles, 7)
	require.Len(t, slack.Posts(), 7, "each once")
	require.Equal(t, 1, relay.post(t, "alerts", event{ID: "without3", Title: "again"}).Duplicate, "its id is known to Redis")
}

func TestStopInAnOutageReportsWhatIsLost(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_REPLICAS=1", "RELAY_CHANNEL_ALERTS_PACE=1h", "RELAY_CHANNEL_ALERTS_BURST=1")...)
	redis.Kill()
	relay.post(t, "alerts", []event{{Title: "sent"}, {Title: "not sent"}})
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, 0, relay.stop())
	require.Contains(t, relay.output.String(), "still without Redis at the end")
	require.Contains(t, relay.output.String(), `"admitted":2,"not_sent":1`)
}

// A resolve that arrives in the outage is posted: nobody knows whether its firing was.
func TestResolvesAcrossAnOutageFindTheirFiring(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t, always...)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_REPLICAS=1", "RELAY_CHANNEL_ALERTS_RESOLVES=edit")...)
	relay.post(t, "alerts", alertmanager(alert("Disk", "before", "firing", "fired before")))
	relay.drained(t, "alerts", 10*time.Second)
	redis.Kill()
	require.Eventually(t, func() bool {
		status, _ := request(t, http.MethodPost, relay.public+"/hooks/alerts", "", []byte(`{"title":"until it is noticed"}`))
		return status == http.StatusAccepted
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, []string{"admitted", "admitted"}, outcomes(relay.post(t, "alerts", alertmanager(
		alert("Disk", "before", "resolved", "fired before"), alert("Disk", "during", "firing", "fired during")))))
	require.Eventually(t, func() bool { return len(slack.Posts()) == 4 }, 10*time.Second, 10*time.Millisecond)
	redis.Up()
	relay.logs(t, "back on Redis")
	require.Equal(t, []string{"merged"}, outcomes(relay.post(t, "alerts", alertmanager(alert("Disk", "during", "resolved", "fired during")))))
	require.Eventually(t, func() bool { return len(slack.Posts()[3].Edits) == 1 }, 10*time.Second, 10*time.Millisecond)
	require.Contains(t, slack.Posts()[3].Edits[0].Get("text"), "Resolved: fired during")
	status := relay.drained(t, "alerts", 10*time.Second)
	require.Len(t, slack.Posts(), 4)
	require.Zero(t, status.Ledger.Imbalance())
}
