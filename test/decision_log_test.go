package test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/decisionlog"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
	"slackrelay/test/golden"
)

// decisionFile is a configuration of channels in which events meet every outcome.
const decisionFile = `
canary_interval: 0s
channels:
  - name: plain
    slack_channel: C0PLAIN
    pace: 1ms
    category_limit: 1
    repeats: post
    rules: [{name: hush, match: [{field: title, is: hush}], mute: true}]
  - {name: merging, slack_channel: C0MERGING, pace: 1ms, repeats: merge}
  - {name: delaying, slack_channel: C0DELAYING, pace: 1ms, category_limit: 1, overflow: delay, window: 2s}
  - {name: refused, slack_channel: C0REFUSED, pace: 1ms}
  - {name: stale, slack_channel: C0STALE, pace: 1ms, ttl: 1s}
`

// decisionsOf decodes lines, and sorts them as the documentation says.
func decisionsOf(t *testing.T, lines []byte) (all []decisionlog.Record) {
	t.Helper()
	for line := range bytes.Lines(lines) {
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		var r decisionlog.Record
		require.NoError(t, decoder.Decode(&r), "%s", line)
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b decisionlog.Record) int { return a.At.Compare(b.At) })
	return all
}

// outcomesOf returns the outcomes of an event in a channel, in order.
func outcomesOf(all []decisionlog.Record, channel, id string) string {
	var outcomes []string
	for _, r := range all {
		if base, _, _ := strings.Cut(r.ID, ":"); r.Channel == channel && base == id { // of alerts, the status follows
			outcomes = append(outcomes, r.Outcome)
		}
	}
	return strings.Join(outcomes, " ")
}

func TestGoldenDecisionLogHasALineForEachOutcome(t *testing.T) {
	t.Parallel()
	slack, path := startSlack(t), filepath.Join(t.TempDir(), "decisions.jsonl")
	slack.Script("C0REFUSED", fakeslack.APIError("invalid_blocks"), fakeslack.APIError("msg_too_long"), fakeslack.APIError("msg_too_long"))
	slack.Script("C0STALE", fakeslack.Reply{Status: http.StatusTooManyRequests, RetryAfter: "2"})
	relay := startRelay(t, append(withFile("", slack.APIURL(), configFile(t, decisionFile)), "RELAY_DECISION_LOG="+path)...)
	want := map[[2]string]string{
		{"plain", "a"}: "admitted delivered duplicate", {"plain", "b"}: "dropped", {"plain", "c"}: "muted",
		{"merging", "a"}: "admitted delivered edited", {"merging", "b"}: "merged", {"merging", "c"}: "merged",
		{"delaying", "a"}: "admitted delivered", {"delaying", "b"}: "delayed admitted delivered",
		{"refused", "a"}: "admitted failed", {"stale", "a"}: "admitted expired",
	}
	lines := func() []decisionlog.Record {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		return decisionsOf(t, content)
	}
	until := func(channel, id, outcome string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(outcomesOf(lines(), channel, id), outcome) },
			15*time.Second, 20*time.Millisecond, "%s/%s is not %s", channel, id, outcome)
	}
	fires := func(id, title string) event {
		return event{ID: id, Category: "disk", Title: title, Severity: "critical", Status: "firing", Fingerprint: "disk"}
	}
	for _, channel := range []string{"stale", "refused", "delaying", "merging"} {
		relay.post(t, channel, fires("a", "secret text"))
	}
	relay.post(t, "delaying", event{ID: "b", Category: "disk", Title: "secret text"})
	for _, e := range []event{fires("a", "secret text"), {ID: "b", Category: "disk", Title: "secret text"}, {ID: "c", Title: "hush"}} {
		relay.post(t, "plain", e)
	}
	until("plain", "a", "delivered")
	until("merging", "a", "delivered")
	relay.post(t, "plain", fires("a", "secret text"))
	relay.post(t, "merging", fires("b", "secret text"))
	resolve := fires("c", "secret text")
	resolve.Status = "resolved"
	relay.post(t, "merging", resolve)
	for _, of := range [][3]string{
		{"merging", "a", "edited"}, {"delaying", "b", "delivered"}, {"refused", "a", "failed"}, {"stale", "a", "expired"},
	} {
		until(of[0], of[1], of[2])
	}
	require.Zero(t, relay.stop())
	all := lines()
	for of, outcomes := range want {
		require.Equal(t, outcomes, outcomesOf(all, of[0], of[1]), "%v", of)
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(content), "secret")
	golden.File(t, "testdata/decisions.jsonl", examplesOf(t, all))
}

// examplesOf returns one line for each outcome, without what differs from run to run.
func examplesOf(t *testing.T, all []decisionlog.Record) []byte {
	t.Helper()
	slices.SortStableFunc(all, func(a, b decisionlog.Record) int { return strings.Compare(a.Channel+" "+a.ID, b.Channel+" "+b.ID) })
	examples := map[string]decisionlog.Record{}
	for _, r := range all {
		if _, known := examples[r.Outcome]; known {
			continue
		}
		require.NotEmpty(t, r.Replica)
		require.WithinDuration(t, time.Now(), r.At, time.Minute)
		r.At = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		r.Replica, r.Line = "relay-0-1-1795255200000000000", int64(len(examples)+1)
		if r.Age > 0 {
			r.Age = 0.25
		}
		if r.RetryAfter > 0 {
			r.RetryAfter = 1799.5
		}
		if r.TS != "" {
			r.TS = "1795255200.000100"
		}
		if r.Outcome == decisionlog.Expired {
			r.Attempts = 1
		}
		examples[r.Outcome] = r
	}
	outcomes := []string{decisionlog.Delivered, decisionlog.Edited, decisionlog.Failed, decisionlog.Expired}
	for _, o := range store.Outcomes() {
		if o.CountedAs() == o {
			outcomes = append(outcomes, o.String())
		}
	}
	slices.Sort(outcomes)
	var text bytes.Buffer
	for i, outcome := range outcomes {
		r, ok := examples[outcome]
		require.True(t, ok, "no event was %s", outcome)
		r.Line = int64(i + 1)
		require.NoError(t, json.NewEncoder(&text).Encode(r))
	}
	return text.Bytes()
}

func TestDecisionLogReachesAWebhookThatFailsAndRecovers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var stored []byte
	failures := 0
	warehouse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer s3cret" || r.Header.Get("Content-Type") != "application/x-ndjson":
			w.WriteHeader(http.StatusBadRequest)
		case failures < 2:
			failures++
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			stored = append(stored, body...)
		}
	}))
	t.Cleanup(warehouse.Close)
	header := filepath.Join(t.TempDir(), "header")
	require.NoError(t, os.WriteFile(header, []byte("Authorization: Bearer s3cret\n"), 0o600))
	slack := startSlack(t)
	relay := startRelay(t, append(withFile("", slack.APIURL(), configFile(t, decisionFile)),
		"RELAY_DECISION_LOG="+warehouse.URL+"/ingest", "RELAY_DECISION_LOG_HEADER_FILE="+header)...)
	relay.post(t, "plain", event{ID: "a", Title: "x"})
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return outcomesOf(decisionsOf(t, stored), "plain", "a") == "admitted delivered"
	}, 15*time.Second, 20*time.Millisecond)
	require.Equal(t, "2", relay.metric(t, `relay_decision_log_lines_total{result="written"}`))
	require.Equal(t, "0", relay.metric(t, `relay_decision_log_lines_total{result="dropped"}`))
	relay.logs(t, "decision log is written again")
	require.Contains(t, relay.output.String(), "the webhook answered 503 Service Unavailable")
	require.NotContains(t, relay.output.String(), "s3cret")
	relay.post(t, "plain", event{ID: "b", Category: "other", Title: "x"})
	require.Zero(t, relay.stop())
	require.Contains(t, outcomesOf(decisionsOf(t, stored), "plain", "b"), "admitted", "the last lines are written when the relay stops")
}
