package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
)

// problemEvent is an event of an alert in the generic format.
type problemEvent struct {
	ID          string            `json:"id"`
	Title       string            `json:"title"`
	Fingerprint string            `json:"fingerprint"`
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// postsWith returns how many posts contain a text.
func postsWith(slack *fakeslack.Server, text string) (n int) {
	for _, post := range slack.Posts() {
		if strings.Contains(post.Form.Get("attachments"), text) {
			n++
		}
	}
	return n
}

// problemFile is a configuration of channels that follow problems.
const problemFile = `
inhibitions:
  - name: node
    source: [{field: label.alertname, is: NodeDown}]
    target: [{field: label.alertname, is: NodeDown, not: true}]
    equal: [node]
    release_after: 1s
channels:
  - name: alerts
    slack_channel: C0ALERTS
    resolves: post
    pace: 1ms
    burst: 100
    category_limit: 100
    hold: 3s
  - name: flaps
    slack_channel: C0FLAPS
    resolves: post
    repeats: post
    pace: 1ms
    burst: 100
    flapping: {changes: 4, within: 1m, stable: 3s}
  - name: infra
    slack_channel: C0INFRA
    resolves: post
    pace: 1ms
    burst: 100
`

// withProblems starts two replicas.
func withProblems(t *testing.T) (*fakeslack.Server, []*process) {
	t.Helper()
	slack, redis, path := startSlack(t), redistest.Start(t), configFile(t, problemFile)
	env := append(withFile(redis.URL, slack.APIURL(), path), "RELAY_LEASE=2s", "RELAY_SLACK_TIMEOUT=1s", "RELAY_SLACK_LOOKUP_DELAY=100ms")
	return slack, []*process{startRelay(t, env...), startRelay(t, env...)}
}

// settled waits until the ledger of a channel is as wanted.
func (p *process) settled(t *testing.T, channel string, want store.Ledger) {
	t.Helper()
	var got store.Ledger
	for end := time.Now().Add(30 * time.Second); got != want && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		got = p.status(t, channel).Ledger
	}
	require.Equal(t, want, got, channel)
}

// Its resolve goes to the other replica. The other alerts are posted once, although a replica dies meanwhile.
func TestHeldAlertsArePostedOnceAndResolvedOnesAreNot(t *testing.T) {
	t.Parallel()
	slack, replicas := withProblems(t)
	const n = 40
	for i := range n {
		e := problemEvent{ID: fmt.Sprint("f", i), Title: fmt.Sprintf("held %02d.", i), Fingerprint: fmt.Sprint(i), Status: "firing"}
		receipt := replicas[i%2].post(t, "alerts", e)
		require.Equal(t, 1, receipt.Delayed)
		require.Equal(t, "hold", receipt.Events[0].By)
	}
	for i := range n / 2 {
		e := problemEvent{ID: fmt.Sprint("r", i), Title: "over", Fingerprint: fmt.Sprint(i), Status: "resolved"}
		require.Equal(t, 1, replicas[(i+1)%2].post(t, "alerts", e).Muted)
	}
	require.Empty(t, slack.Posts())
	require.Eventually(t, func() bool { return len(slack.Posts()) > 0 }, 10*time.Second, time.Millisecond)
	replicas[0].kill()
	replicas[1].settled(t, "alerts", store.Ledger{Received: n + n/2, Muted: n, Admitted: n / 2, Delivered: n / 2})
	var texts []string
	for _, post := range slack.Posts() {
		texts = append(texts, post.Text)
	}
	require.Len(t, texts, n/2)
	require.IsIncreasing(t, texts, "in the order of their arrival")
}

func TestFlappingAlertIsSaidOnceOverReplicas(t *testing.T) {
	t.Parallel()
	slack, replicas := withProblems(t)
	states := []string{"firing", "resolved"}
	merged := 0
	for i := range 12 {
		e := problemEvent{ID: fmt.Sprint(i), Title: "disk", Fingerprint: "disk", Status: states[i%2]}
		merged += replicas[i%2].post(t, "flaps", e).Merged
		require.Eventually(t, func() bool { return len(slack.Posts()) >= min(i+1, 5) }, 10*time.Second, time.Millisecond)
	}
	require.Equal(t, 8, merged)
	replicas[0].settled(t, "flaps", store.Ledger{Received: 14, Merged: 8, Admitted: 6, Delivered: 6})
	require.Len(t, slack.Posts(), 6)
	require.Equal(t, 1, postsWith(slack, "flapping: 4 changes in 1 minute"))
	require.Equal(t, 1, postsWith(slack, "after 8 more changes"))
}

func TestInhibitionMutesAcrossChannelsAndReplicasUntilItsSourceEnds(t *testing.T) {
	t.Parallel()
	slack, replicas := withProblems(t)
	of := func(name, node, status string) problemEvent {
		return problemEvent{
			ID: name + node + status, Title: name + " on " + node, Fingerprint: name + node, Status: status,
			Labels: map[string]string{"alertname": name, "node": node},
		}
	}
	require.Equal(t, 1, replicas[0].post(t, "infra", of("NodeDown", "n1", "firing")).Admitted)
	for i := range 20 {
		receipt := replicas[i%2].post(t, "flaps", of(fmt.Sprint("Disk", i), "n1", "firing"))
		require.Equal(t, 1, receipt.Muted)
		require.Equal(t, "inhibition node", receipt.Events[0].By)
		require.Equal(t, "NodeDown on n1 fires", receipt.Events[0].Explanation)
	}
	require.Equal(t, 1, replicas[0].post(t, "flaps", of("Disk", "n2", "firing")).Admitted)
	for i := range 15 {
		require.Equal(t, 1, replicas[(i+1)%2].post(t, "flaps", of(fmt.Sprint("Disk", i), "n1", "resolved")).Muted)
	}
	require.Equal(t, 1, replicas[1].post(t, "infra", of("NodeDown", "n1", "resolved")).Admitted)
	replicas[1].settled(t, "flaps", store.Ledger{Received: 41, Muted: 35, Admitted: 6, Delivered: 6})
	require.Equal(t, 5, postsWith(slack, "still firing; inhibition"))
	require.Len(t, slack.Posts(), 8)
}
