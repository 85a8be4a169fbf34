package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/store/memory"
)

func TestHeldEventsAreListedAndCounted(t *testing.T) {
	t.Parallel()
	limiter, registry := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), prometheus.NewRegistry()
	window := ratelimit.Window{Limit: 5, Per: time.Hour}
	channels := []pipeline.Channel{{Name: "alerts", Tiers: levels(window, window), Hold: time.Hour}}
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: channels, Metrics: pipeline.NewMetrics(registry), Wake: func(string) {}, Problems: limiter,
	})
	status := pipeline.NewStatusReader(limiter, channels, nil, nil)
	registry.MustRegister(server.NewGauges(func() *pipeline.StatusReader { return status }, nil))
	_, err := intake.Admit(t.Context(), pipeline.Arrival{Channel: "alerts", Events: []events.Event{
		{ID: "1", Title: "secret", Category: "disk", Status: events.Firing, Fingerprint: "x"},
	}})
	require.NoError(t, err)
	for _, local := range []bool{true, false} {
		relay := server.New(server.Options{
			Status: status, Registry: registry, Logger: slog.New(slog.DiscardHandler), Local: local,
			Archive: &pipeline.Archive{Limiter: limiter, Outbox: limiter, Problems: limiter, Intake: intake, Channels: channels},
		})
		get := func(path string) (int, string) {
			code, _, body := serve(relay.Ops(), httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
			return code, string(body)
		}
		code, body := get("/api/v1/channels/alerts/held")
		require.Equal(t, http.StatusOK, code, "%s", body)
		var list struct {
			Held  []pipeline.HeldRecord
			Texts bool
		}
		require.NoError(t, json.Unmarshal([]byte(body), &list))
		require.Len(t, list.Held, 1)
		require.Equal(t, local, list.Texts)
		require.Equal(t, "disk", list.Held[0].Event.Category)
		require.Equal(t, map[bool]string{true: "secret"}[local], list.Held[0].Event.Title, "texts need a right")
		_, body = get("/api/v1/channels/alerts/held?before=" + list.Held[0].ID)
		require.Contains(t, body, `"held":[]`)
		code, body = get("/api/v1/channels/alerts/held?before=x")
		require.Equal(t, http.StatusBadRequest, code, "%s", body)
		code, _ = get("/api/v1/channels/none/held")
		require.Equal(t, http.StatusNotFound, code)
		_, body = get("/api/v1/channels/alerts")
		require.Contains(t, body, `"held":1`)
		_, body = get("/metrics")
		require.Contains(t, body, `relay_held{channel="alerts"} 1`)
	}
}
