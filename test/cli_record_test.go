package test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRecordedTraceIsPlayedAgainstOtherLimits(t *testing.T) {
	t.Parallel()
	slack := startSlack(t)
	relay := startRelay(t, fast("", slack, "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2")...)
	_, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=alerts"}, "record", "--ops-url", relay.ops)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "channel alerts received nothing in the last 24h")
	relay.post(t, "alerts", []event{
		{Title: "1", Category: "disk"},
		{Title: "2", Category: "disk"},
		{Title: "3", Category: "disk"},
		{Title: "4", Category: "net"},
	})
	relay.drained(t, "alerts", 10*time.Second)
	stdout, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=alerts"}, "record", "--ops-url", relay.ops, "--back", "1h")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, 4, strings.Count(stdout, "\n"))
	stdout, stderr, code = runRelay(t, nil, "simulate", "--json", "--trace", configFile(t, stdout), "--try", "category_limit=2")
	require.Equal(t, 0, code, stderr)
	var all struct {
		Runs []struct{ Received, Sent int }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Equal(t, 4, all.Runs[0].Received)
	require.Equal(t, 4, all.Runs[0].Sent)
	require.Equal(t, 3, all.Runs[1].Sent)
}
