package test

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A metric counts the lines that are left out. Audit lines are always written.
func TestStormOfWebhooksIsSampledInTheLog(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_LOG_BURST=5", "RELAY_ADMIN_TOKEN=admin")
	const webhooks = 600
	began := time.Now()
	for i := range webhooks {
		relay.post(t, "alerts", map[string]string{"title": fmt.Sprint(i), "category": "storm"})
	}
	seconds := int(time.Since(began).Seconds()) + 2
	for range 10 {
		status, _ := request(t, http.MethodPost, relay.ops+"/api/v1/channels/alerts/resume", "admin", nil)
		require.Equal(t, http.StatusOK, status)
	}
	require.Equal(t, 0, relay.stop())
	lines := strings.Count(relay.output.String(), `"msg":"webhook accepted"`)
	require.LessOrEqual(t, lines, 5*seconds+webhooks/100)
	require.Contains(t, relay.output.String(), `"left_out":`)
	require.Equal(t, 10, strings.Count(relay.output.String(), `"msg":"audit"`))

	all := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_LOG_BURST=0")
	for i := range 50 {
		all.post(t, "alerts", map[string]string{"title": fmt.Sprint(i)})
	}
	require.Equal(t, "0", all.metric(t, `relay_log_lines_suppressed_total{level="DEBUG"}`))
	require.Equal(t, 0, all.stop())
	require.Equal(t, 50, strings.Count(all.output.String(), `"msg":"webhook accepted"`))
}

// The log grows by no more than the burst, whatever is refused and for however many channels. The metric counts all refusals,
// relay status shows them, and the API lists them.
func TestRefusalsDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts,busy", "RELAY_LOG_BURST=5", "RELAY_LOG_LEVEL=info",
		"RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=s3cret", "RELAY_MAX_CONCURRENT=4", "RELAY_ADMIN_TOKEN=4dm1n")
	began, before := time.Now(), len(relay.output.String())
	const each = 500
	var all sync.WaitGroup
	for k := range 8 { // more than may be in flight
		all.Go(func() {
			for i := range each {
				request(t, http.MethodPost, fmt.Sprintf("%s/hooks/x%d-%d%s", relay.public, k, i, strings.Repeat("y", 3000)), "", []byte("{}"))
			}
		})
	}
	all.Wait()
	for range 15 {
		request(t, http.MethodPost, relay.public+"/hooks/alerts", "wrong", []byte("{}"))
		request(t, http.MethodPost, relay.ops+"/login", "", nil)
	}
	seconds := int(time.Since(began).Seconds()) + 2
	log := relay.output.String()[before:]
	require.LessOrEqual(t, strings.Count(log, "\n"), 2*5*seconds)
	require.Less(t, len(log), 2*5*seconds*400)
	require.NotContains(t, log, "yyyy")
	require.NotContains(t, log, `"level":"ERROR"`)
	require.Contains(t, log, `"msg":"request refused"`)
	require.Contains(t, log, `"msg":"audit","what":"sign-in refused","from":"127.0.0.1"`)
	number := func(sample string) int {
		n, err := strconv.Atoi(cmp.Or(relay.metric(t, sample), "0"))
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 8*each, number(`relay_requests_refused_total{channel="",code="unknown_channel"}`)+
		number(`relay_requests_refused_total{channel="",code="unavailable"}`))
	require.Equal(t, 15, number(`relay_requests_refused_total{channel="alerts",code="unauthorized"}`))
	require.Equal(t, 15, number(`relay_requests_refused_total{channel="",code="unauthorized"}`))
	require.Equal(t, "0", relay.metric(t, `relay_requests_refused_total{channel="busy",code="unauthorized"}`),
		"so that the first is an increase")
	require.Positive(t, number(`relay_log_lines_suppressed_total{level="WARN"}`))

	stdout, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=alerts,busy"}, "status", "--ops-url", relay.ops)
	require.Zero(t, code, stderr)
	require.Regexp(t, `\n4030 requests refused by this replica since \S+ \S+ \(not counted in the ledger\): `+
		`\d+ unknown_channel.*15 unauthorized in alerts`, stdout)
	stdout, _, _ = runRelay(t, []string{"RELAY_CHANNELS=alerts,busy"}, "status", "--ops-url", relay.ops, "--channel", "alerts")
	require.Contains(t, stdout, "\n15 requests refused by this replica")
	stdout, _, _ = runRelay(t, []string{"RELAY_CHANNELS=alerts,busy"}, "status", "--ops-url", relay.ops, "--channel", "busy")
	require.NotContains(t, stdout, "refused")
	stdout, _, _ = runRelay(t, []string{"RELAY_CHANNELS=alerts,busy"}, "status", "--ops-url", relay.ops, "--json")
	require.Contains(t, stdout, `"total": 4030`)
}
