package test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUnknownVariableIsAWarningAtStart(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_LISTN=x")
	require.Contains(t, relay.output.String(), "RELAY_LISTN: unknown setting; did you mean RELAY_LISTEN?")
}

// When it stops, it reports what is lost.
func TestRelayWithoutRedisReportsThatNothingIsDurable(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNEL_DEFAULT_PACE=1h", "RELAY_CHANNEL_DEFAULT_BURST=1")
	require.Contains(t, relay.output.String(), "redis_url: is not set")
	receipt := relay.post(t, "default", []event{{Title: "a"}, {Title: "b"}})
	require.False(t, receipt.Durable)
	require.Eventually(t, func() bool { return relay.status(t, "default").Ledger.Delivered == 1 }, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, 0, relay.stop())
	require.Contains(t, relay.output.String(), "admitted messages lost")
}

func TestTakenPortEndsTheStart(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	_, stderr, code := runRelay(t, []string{"RELAY_LISTEN=" + strings.TrimPrefix(relay.public, "http://"), "RELAY_OPS_LISTEN=127.0.0.1:0"},
		"serve")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "set RELAY_LISTEN to another address")
}

func TestLogIsJSON(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	status, _ := request(t, http.MethodPost, relay.public+"/hooks/default", "", []byte(`{"title":"x"}`))
	require.Equal(t, http.StatusAccepted, status)
	relay.stop()
	for line := range strings.Lines(relay.output.String()) {
		if strings.HasPrefix(line, "#default") || strings.HasPrefix(line, "    ") {
			continue // the console's preview
		}
		require.True(t, json.Valid([]byte(line)), line)
	}
}
