package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
)

// get returns the reply of the ops listener.
func (b bundle) get(path string) (int, string) {
	status, _, answer := serve(b.Ops(), httptest.NewRequest(http.MethodGet, path, nil))
	return status, strings.TrimSpace(string(answer))
}

// fourEvents sends a webhook of which channel open admits three events.
func (b bundle) fourEvents(t *testing.T) {
	t.Helper()
	status, _, answer := serve(b.Public(), post("/hooks/open", `[{"title":"1","category":"a"},{"title":"2","category":"a"},
		{"title":"3","category":"a"},{"title":"4","category":"b"}]`))
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
}

// ledgerOfFourEvents is the ledger of channel open after fourEvents.
var ledgerOfFourEvents = map[string]any{
	"received": 4.0, "admitted": 3.0, "dropped": 1.0, "duplicate": 0.0, "muted": 0.0, "merged": 0.0, "delayed": 0.0,
	"delivered": 0.0, "failed": 0.0, "expired": 0.0, "superseded": 0.0, "pending": 3.0, "forced": 0.0,
}

func TestHealthyRelayIsReady(t *testing.T) {
	t.Parallel()
	b := setup(t)
	status, answer := b.get("/healthz")
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"status":"ok"}`, answer)
	status, answer = b.get("/readyz")
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"status":"ok","reasons":[]}`, answer)
}

func TestDrainingRelayIsNotReadyAndAcceptsWebhooks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Drain()
	status, answer := b.get("/readyz")
	require.Equal(t, 503, status)
	require.Contains(t, answer, "draining")
	status, header, _ := serve(b.Public(), post("/hooks/open", `{"title":"still accepted"}`))
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, "close", header.Get("Connection"), "the sender's next webhook goes to another replica")
}

func TestChannelStatusHasLevelsCategoriesAndLedger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fourEvents(t)
	status, answer := b.get("/api/v1/channels/open")
	require.Equal(t, 200, status)
	var channel map[string]any
	require.NoError(t, json.Unmarshal([]byte(answer), &channel))
	withoutTimes := func(list any) { // they change while the test runs
		first, _ := list.([]any)[0].(map[string]any)
		require.InDelta(t, 1800, first["retry_after"], 5)
		first["retry_after"] = 0.0
	}
	withoutTimes(channel["levels"])
	withoutTimes(channel["categories"])
	require.Positive(t, channel["oldest_seconds"])
	channel["oldest_seconds"] = 0.0
	require.Equal(t, map[string]any{
		"channel": "open",
		"levels":  []any{map[string]any{"level": "channel", "limit": 3.0, "per": 1800.0, "used": 3.0, "retry_after": 0.0}},
		"ledger":  ledgerOfFourEvents,
		"categories": []any{
			map[string]any{"category": "a", "used": 2.0, "limit": 2.0, "per": 1800.0, "retry_after": 0.0, "admitted": 2.0, "dropped": 1.0},
			map[string]any{"category": "b", "used": 1.0, "limit": 2.0, "per": 1800.0, "retry_after": 0.0, "admitted": 1.0, "dropped": 0.0},
		},
		"state": map[string]any{"paused_until": nil, "reason": ""}, "oldest_seconds": 0.0,
	}, channel)
}

func TestChannelListHasLedgersAndNoCategories(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fourEvents(t)
	status, answer := b.get("/api/v1/channels")
	require.Equal(t, 200, status)
	var all struct{ Channels []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(answer), &all))
	require.Len(t, all.Channels, 2)
	require.NotContains(t, all.Channels[0], "categories")
	require.Equal(t, ledgerOfFourEvents, all.Channels[0]["ledger"])
}

func TestUnknownChannelIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"nowhere", "nowhere/series"} {
		t.Run(path, func(t *testing.T) {
			status, answer := b.get("/api/v1/channels/" + path)
			require.Equal(t, 404, status)
			require.Contains(t, answer, "unknown_channel")
		})
	}
}

func TestMetricsShowCountsAndState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fourEvents(t)
	_, answer := b.get("/metrics")
	for _, sample := range []string{
		`relay_events_received_total{channel="open",source="generic"} 4`,
		`relay_events_total{category="a",channel="open",level="category",outcome="dropped"} 1`,
		`relay_events_total{category="b",channel="open",level="",outcome="admitted"} 1`,
		`relay_limiter_decisions_total{decided_by="memory"} 4`,
		`relay_outbox_pending{channel="open"} 3`,
		`relay_limit_used{channel="open",level="channel"} 3`,
		`relay_ledger_imbalance{channel="open"} 0`,
		`relay_channel_paused{channel="open",reason=""} 0`,
		"relay_redis_up 1",
	} {
		require.Contains(t, answer+"\n", sample+"\n")
	}
}

func TestSeriesCountsBySteps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fourEvents(t)
	series := func(query string) (series pipeline.Series) {
		status, answer := b.get("/api/v1/channels/open/series?" + query)
		require.Equal(t, 200, status, answer)
		require.NoError(t, json.Unmarshal([]byte(answer), &series))
		return series
	}
	sum := func(all []int64) (n int64) {
		for _, one := range all {
			n += one
		}
		return n
	}
	byMinute := series("back=10m")
	require.InDelta(t, 60, byMinute.Step, 0)
	require.Len(t, byMinute.Total.Received, 11)
	require.Equal(t, int64(4), sum(byMinute.Total.Received))
	require.Equal(t, int64(3), sum(byMinute.Total.Sent))
	require.Equal(t, int64(1), sum(byMinute.Total.Dropped))
	require.Equal(t, "a", byMinute.Categories[0].Category, "the busiest first")
	require.Equal(t, int64(3), sum(byMinute.Categories[0].Received))
	require.Contains(t, []int{7, 6}, len(series("back=1h&step=10m").Total.Received))
}

func TestSeriesRefusesInvalidTimes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, query := range []string{"back=x", "back=30s", "back=25h", "step=30s", "step=90s", "back=-1h"} {
		t.Run(query, func(t *testing.T) {
			status, answer := b.get("/api/v1/channels/open/series?" + query)
			require.Equal(t, 400, status)
			require.Contains(t, answer, "bad_field")
		})
	}
}
