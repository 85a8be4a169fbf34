package test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
)

// group returns alerts with one name and the numbers from <= i < to.
func group(name, status string, from, to int) []map[string]any {
	var all []map[string]any
	for i := from; i < to; i++ {
		all = append(all, alert(name, fmt.Sprint(name, i), status, fmt.Sprintf("Disk full on db-%d", i)))
	}
	return all
}

// shownLast returns what a message shows after its last edit: its headline, and the rest.
func shownLast(post fakeslack.Post) (text, rest string) {
	form := post.Form
	if len(post.Edits) > 0 {
		form = post.Edits[len(post.Edits)-1]
	}
	return form.Get("text"), form.Get("attachments")
}

// A group of any size that fires and ends, at once or in parts, on two replicas, before and after it is posted, is one message
// that ends green and counts the resolved alerts. Its end is never refused, although all limits are reached.
func TestGroupsEndAsOneGreenMessage(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	sizes := []int{1, 2, 10, 11, 20, 128, 300}
	env := fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_BUNDLE=webhook", "RELAY_CHANNEL_ALERTS_RESOLVES=edit",
		"RELAY_CHANNEL_ALERTS_REPEATS=merge",
		"RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1", fmt.Sprint("RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=", 3*len(sizes)))
	a, b := startRelay(t, env...), startRelay(t, env...)
	for _, n := range sizes {
		a.post(t, "alerts", alertmanager(group(fmt.Sprint("posted-", n), "firing", 0, n)...))
		a.post(t, "alerts", alertmanager(group(fmt.Sprint("parts-", n), "firing", 0, n)...))
	}
	a.drained(t, "alerts", 20*time.Second)
	status, answer := request(t, http.MethodPost, a.ops+"/api/v1/channels/alerts/pause", "4dm1n", []byte("{}"))
	require.Equal(t, http.StatusOK, status, "%s", answer)
	for _, n := range sizes {
		a.post(t, "alerts", alertmanager(group(fmt.Sprint("waits-", n), "firing", 0, n)...))
		resolves := []([]map[string]any){
			group(fmt.Sprint("posted-", n), "resolved", 0, n), group(fmt.Sprint("waits-", n), "resolved", 0, n),
			group(fmt.Sprint("parts-", n), "resolved", n/3, n), group(fmt.Sprint("parts-", n), "resolved", 0, n/3),
		}
		slices.Reverse(resolves[0])
		for i, ends := range resolves {
			if len(ends) > 0 {
				receipt := []*process{a, b}[i%2].post(t, "alerts", alertmanager(ends...))
				require.Zero(t, receipt.Dropped)
			}
		}
	}
	status, answer = request(t, http.MethodPost, a.ops+"/api/v1/channels/alerts/resume", "4dm1n", nil)
	require.Equal(t, http.StatusOK, status, "%s", answer)
	require.Eventually(t, func() bool {
		green := 0
		for _, post := range slack.Posts() {
			if _, rest := shownLast(post); strings.Contains(rest, "#2eb67d") {
				green++
			}
		}
		return green == 3*len(sizes)
	}, 30*time.Second, 20*time.Millisecond)
	require.Len(t, slack.Posts(), 3*len(sizes))
	var headlines []string
	for _, post := range slack.Posts() {
		text, rest := shownLast(post)
		headlines = append(headlines, text)
		if n := 0; strings.Contains(text, "—") {
			_, err := fmt.Sscanf(text[strings.Index(text, "—"):], "— %d resolved", &n)
			require.NoError(t, err, text)
			require.Contains(t, rest, "all resolved after")
			require.Equal(t, n > 10, strings.Contains(rest, fmt.Sprintf("… and %d more, all resolved, the last at", n-10)), rest)
		}
	}
	for _, n := range sizes {
		want := fmt.Sprintf("%d resolved", n)
		if n == 1 {
			want = "Resolved: Disk full on db-0"
		}
		require.GreaterOrEqual(t, strings.Count(strings.Join(headlines, "\n"), want), 3, want)
	}
	ledger := a.drained(t, "alerts", 10*time.Second).Ledger
	require.Zero(t, ledger.Imbalance())
	require.Zero(t, ledger.Dropped)
}

// Resolves are messages or replies of their own.
func TestGroupOfResolvesIsOneMessageThatCountsAll(t *testing.T) {
	t.Parallel()
	for _, resolves := range []string{"post", "reply"} {
		t.Run(resolves, func(t *testing.T) {
			t.Parallel()
			slack, redis := startSlack(t), redistest.Start(t)
			relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_BUNDLE=webhook", "RELAY_CHANNEL_ALERTS_RESOLVES="+resolves)...)
			relay.post(t, "alerts", alertmanager(group("disk", "firing", 0, 20)...))
			relay.drained(t, "alerts", 10*time.Second)
			relay.post(t, "alerts", alertmanager(append(group("disk", "resolved", 0, 20), group("disk", "firing", 20, 25)...)...))
			relay.drained(t, "alerts", 10*time.Second)
			posts := slack.Posts()
			require.Len(t, posts, 2)
			require.Equal(t, "🔴 *disk* — 5 firing, 20 resolved", posts[1].Text)
			require.Contains(t, posts[1].Form.Get("attachments"), "… and 15 more: 5 firing, 10 resolved")
			receipt := relay.post(t, "alerts", alertmanager(group("disk", "resolved", 0, 25)...))
			require.Equal(t, 20, receipt.Duplicate)
			require.Equal(t, 1, receipt.Admitted)
			require.Equal(t, 4, receipt.Merged)
			relay.drained(t, "alerts", 10*time.Second)
			require.Equal(t, "✅ *disk* — 5 resolved", slack.Posts()[2].Text)
			require.Equal(t, map[string]string{"post": "", "reply": posts[1].TS}[resolves], slack.Posts()[2].Thread)
		})
	}
}
