package test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier"
	"slackrelay/notifier/fakeslack"
)

// firing is an alert that fires.
func firing(n int) map[string]string {
	return map[string]string{
		"title": fmt.Sprintf("disk %d is full", n), "category": fmt.Sprintf("disk-%d", n), "status": "firing",
		"fingerprint": fmt.Sprintf("disk-%d", n),
	}
}

// Three replicas, whose sockets break and one of which dies while people click: each click is handled by whichever replica gets
// it, and each effect happens once.
func TestClicksReachAnyReplica(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	slack.AppToken = "xapp-1-A0001-2-hush"
	env := fast(redis.URL, slack, "RELAY_SLACK_APP_TOKEN=xapp-1-A0001-2-hush")
	replicas := []*process{startRelay(t, env...), startRelay(t, env...), startRelay(t, env...)}
	opened := func(want int) {
		require.Eventually(t, func() bool { return slack.Sockets() == want }, 15*time.Second, 10*time.Millisecond)
	}
	opened(2)
	const alerts, users = 6, 5
	for i := range alerts {
		replicas[0].post(t, "alerts", firing(i))
	}
	before := replicas[0].drained(t, "alerts", 10*time.Second)
	took := make(chan time.Duration, alerts*users)
	for i, post := range slack.Posts() {
		if i%3 == 2 { // the other one goes on
			opened(2)
			require.True(t, slack.KillSocket())
		}
		var all sync.WaitGroup
		for user := range users { // the first one acknowledges it, and for the others it is done
			payload, err := slack.ClickPayload(fmt.Sprintf("U0%d", user), post.TS, notifier.ActionAcknowledge)
			require.NoError(t, err)
			all.Go(func() {
				started := time.Now()
				if slack.Send("interactive", payload) == nil {
					took <- time.Since(started)
				}
			})
		}
		all.Wait()
		require.Eventually(t, func() bool { return edits(slack, post.TS) > 0 }, 5*time.Second, 5*time.Millisecond)
	}
	close(took)
	times := slices.Sorted(func(yield func(time.Duration) bool) {
		for d := range took {
			yield(d)
		}
	})
	require.Len(t, times, alerts*users, "each is acknowledged")
	t.Logf("%d clicks acknowledged: median %s, 99th percentile %s", len(times), times[len(times)/2], times[len(times)*99/100])
	require.Less(t, times[len(times)*99/100], 2*time.Second)
	opened(2)
	replicas[1].kill()
	require.Eventually(t, func() bool { return slack.Command("U09", "C0ALERTS", "status") == nil }, 15*time.Second, 50*time.Millisecond)
	require.NotEmpty(t, slack.Answers("U09"))
	opened(2) // the survivors hold both
	after := replicas[0].drained(t, "alerts", 10*time.Second)
	require.Equal(t, before.Ledger, after.Ledger, "no click takes a slot")
	for _, post := range slack.Posts() {
		require.Equal(t, 1, edits(slack, post.TS), "acknowledged once")
	}
	require.Len(t, slack.Posts(), alerts)
	for _, r := range replicas {
		require.NotContains(t, r.output.String(), "hush")
	}
}

// edits returns how often a message was edited.
func edits(slack *fakeslack.Server, ts string) int {
	for _, post := range slack.Posts() {
		if post.TS == ts {
			return len(post.Edits)
		}
	}
	return 0
}

// With the signing secret, Slack posts clicks to the webhook listener of any replica.
func TestClicksArriveAsSignedRequests(t *testing.T) {
	t.Parallel()
	const secret = "8f742231b10e8888abcd99aabbcc85a5"
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_SLACK_SIGNING_SECRET="+secret)
	one, two := startRelay(t, env...), startRelay(t, env...)
	one.post(t, "alerts", firing(1))
	one.drained(t, "alerts", 10*time.Second)
	message := slack.Posts()[0].TS
	slack.PostTo(two.public, strings.Repeat("0", 32))
	require.ErrorContains(t, slack.Click("U01", message, notifier.ActionAcknowledge), "acknowledged with 401")
	slack.PostTo(two.public, secret)
	require.NoError(t, slack.Click("U01", message, notifier.ActionAcknowledge))
	require.Eventually(t, func() bool { return edits(slack, message) == 1 }, 5*time.Second, 10*time.Millisecond)
	require.NoError(t, slack.Command("U01", "C0ALERTS", "status"))
	require.NotEmpty(t, slack.Answers("U01"))
	require.Equal(t, "1", two.metric(t, `relay_requests_refused_total{channel="",code="unauthorized"}`))
	require.NotContains(t, one.output.String()+two.output.String(), secret)
	require.Zero(t, slack.Sockets(), "no app-level token, no socket")
}

// Without these settings, nothing can be clicked, and Slack is not asked for anything.
func TestNothingIsReceivedUnlessConfigured(t *testing.T) {
	t.Parallel()
	slack := startSlack(t)
	relay := startRelay(t, fast("", slack)...)
	relay.post(t, "alerts", firing(1))
	relay.drained(t, "alerts", 10*time.Second)
	require.ErrorContains(t, slack.Click("U01", slack.Posts()[0].TS, notifier.ActionAcknowledge), "has no element")
	status, _ := request(t, "POST", relay.public+"/slack/interactions", "", []byte("payload={}"))
	require.Equal(t, 404, status)
	require.Zero(t, slack.Sockets())
}
