package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/pipeline"
	"slackrelay/store"
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

func TestResolvesEditTheirFiring(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_RESOLVES=edit", "RELAY_CHANNEL_ALERTS_REPEATS=merge",
		"RELAY_DEDUPE=1s")...)
	require.Equal(t, []string{"admitted", "dropped suppressed"}, outcomes(relay.post(t, "alerts", alertmanager(
		alert("Disk", "aa", "firing", "Disk full"), alert("Disk", "bb", "resolved", "never posted")))))
	relay.drained(t, "alerts", 10*time.Second)
	require.Eventually(t, func() bool { // a repeat after the dedupe time
		receipt := relay.post(t, "alerts", alertmanager(alert("Disk", "aa", "firing", "Disk full")))
		return receipt.Merged == 1
	}, 5*time.Second, 200*time.Millisecond)
	require.Equal(t, []string{"merged"}, outcomes(relay.post(t, "alerts", alertmanager(alert("Disk", "aa", "resolved", "Disk full")))))
	require.Eventually(t, func() bool {
		posts := slack.Posts()
		return len(posts[0].Edits) > 0 && strings.Contains(posts[0].Edits[len(posts[0].Edits)-1].Get("text"), "Resolved: Disk full")
	}, 10*time.Second, 10*time.Millisecond)
	posts := slack.Posts()
	require.Len(t, posts, 1, "there is one message")
	last := posts[0].Edits[len(posts[0].Edits)-1].Get("attachments")
	require.Contains(t, last, "resolved after")
	require.Contains(t, last, "repeated once")
	require.Contains(t, last, "#2eb67d")
	status := relay.status(t, "alerts")
	require.Equal(t, int64(1), status.Levels[0].Used, "edits take no slot")
	require.Zero(t, status.Ledger.Imbalance())
	require.Equal(t, int64(1), status.Ledger.Admitted)
	require.Equal(t, int64(1), status.Ledger.Dropped)
	require.Equal(t, int64(2), status.Ledger.Merged)
}

func TestResolvesReplyInTheThread(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_RESOLVES=reply")...)
	relay.post(t, "alerts", alertmanager(alert("Disk", "aa", "firing", "Disk full")))
	relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, []string{"admitted"}, outcomes(relay.post(t, "alerts", alertmanager(alert("Disk", "aa", "resolved", "Disk full")))))
	relay.drained(t, "alerts", 10*time.Second)
	posts := slack.Posts()
	require.Len(t, posts, 2)
	require.Equal(t, posts[0].TS, posts[1].Thread)
	require.Equal(t, int64(2), relay.status(t, "alerts").Levels[0].Used)
}

// It takes the place and the slot of the firing.
func TestResolveSupersedesItsPendingFiring(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_PACE=1s", "RELAY_CHANNEL_ALERTS_BURST=1",
		"RELAY_CHANNEL_ALERTS_BUNDLE=off")...)
	relay.post(t, "alerts", []event{{Title: "first"}})
	relay.post(t, "alerts", alertmanager(alert("Disk", "aa", "firing", "Disk full"), alert("Disk", "bb", "firing", "Other")))
	require.Equal(t, []string{"admitted"}, outcomes(relay.post(t, "alerts", alertmanager(alert("Disk", "aa", "resolved", "Disk full")))))
	status := relay.drained(t, "alerts", 20*time.Second)
	require.Equal(t, store.Ledger{Received: 4, Admitted: 4, Delivered: 3, Superseded: 1}, status.Ledger)
	require.Equal(t, int64(3), status.Levels[0].Used)
	var said []string
	for _, post := range slack.Posts() {
		said = append(said, post.Text)
	}
	require.Equal(t, []string{"🟡 *first*", "✅ *Resolved: Disk full*", "🔴 *Other*"}, said)
}

func TestBundleIsOneMessage(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_BUNDLE=webhook", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2",
		"RELAY_CHANNEL_ALERTS_RESOLVES=edit")...)
	var group []map[string]any
	for i := range 37 {
		group = append(group, alert("Disk", fmt.Sprint("disk", i), "firing", fmt.Sprint("Disk full on db-", i)))
	}
	group = append(group, alert("Memory", "mem", "firing", "Memory"))
	receipt := relay.post(t, "alerts", alertmanager(group...))
	require.Equal(t, 38, receipt.Received)
	require.Equal(t, 2, receipt.Admitted)
	require.Equal(t, 36, receipt.Merged)
	again := relay.post(t, "alerts", alertmanager(append(group[:37:37], alert("Disk", "new", "firing", "Disk full on db-new"))...))
	require.Equal(t, 37, again.Duplicate, "a group that grew: only what is new")
	require.Equal(t, 1, again.Admitted, "a group that grew: only what is new")
	refused := relay.post(t, "alerts", alertmanager(alert("Disk", "x", "firing", "x"), alert("Disk", "y", "firing", "y")))
	require.Equal(t, []string{"dropped category", "dropped category"}, outcomes(refused), "a refused bundle drops them all")
	status := relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, store.Ledger{Received: 78, Admitted: 3, Merged: 36, Duplicate: 37, Dropped: 2, Delivered: 3}, status.Ledger)
	posts := slack.Posts()
	require.Len(t, posts, 3)
	require.Equal(t, "🔴 *Disk* — 37 firing", posts[0].Text)
	require.Contains(t, posts[0].Form.Get("attachments"), "… and 27 more")

	relay.post(t, "alerts", alertmanager(alert("Disk", "disk3", "resolved", "Disk full on db-3")))
	require.Eventually(t, func() bool { return len(slack.Posts()[0].Edits) == 1 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "🔴 *Disk* — 36 firing, 1 resolved", slack.Posts()[0].Edits[0].Get("text"))
}
