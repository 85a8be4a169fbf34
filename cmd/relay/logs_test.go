package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A storm of webhooks is none of lines: so many a second are written, with how many were left out between, and a metric counts
// those. What an operator does is always written.
func TestLinesInAStorm(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_LOG_BURST=5", "RELAY_ADMIN_TOKEN=admin")
	const webhooks = 600
	began := time.Now()
	for i := range webhooks {
		relay.take(t, "alerts", map[string]string{"title": fmt.Sprint(i), "category": "storm"})
	}
	seconds := int(time.Since(began).Seconds()) + 2
	for range 10 {
		status, _ := request(t, http.MethodPost, relay.ops+"/api/v1/channels/alerts/resume", "admin", nil)
		require.Equal(t, http.StatusOK, status)
	}
	require.Equal(t, 0, relay.stop())
	lines := strings.Count(relay.output.String(), `"msg":"webhook taken in"`)
	require.LessOrEqual(t, lines, 5*seconds+webhooks/100)
	require.Contains(t, relay.output.String(), `"left_out":`)
	require.Equal(t, 10, strings.Count(relay.output.String(), `"msg":"audit"`))

	all := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_LOG_BURST=0")
	for i := range 50 {
		all.take(t, "alerts", map[string]string{"title": fmt.Sprint(i)})
	}
	require.Equal(t, "0", all.metric(t, `relay_log_lines_suppressed_total{level="DEBUG"}`))
	require.Equal(t, 0, all.stop())
	require.Equal(t, 50, strings.Count(all.output.String(), `"msg":"webhook taken in"`))
}
