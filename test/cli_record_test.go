package test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
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

func TestLiveRecordingKeepsWhatDecidesAndNoText(t *testing.T) {
	t.Parallel()
	slack := startSlack(t)
	relay := startRelay(t, fast("", slack)...)
	recorder := exec.Command(program(), "record", "--ops-url", relay.ops, "--live", "1m")
	recorder.Env = []string{"RELAY_CHANNELS=alerts"}
	recorded := &output{}
	recorder.Stdout = recorded
	notes, err := recorder.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, recorder.Start())
	note, err := bufio.NewReader(notes).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, note, "recording channel alerts since ")
	labels := map[string]string{"host": "db-1"}
	relay.post(t, "alerts", []event{
		{Title: "a secret title", Category: "disk", Severity: "critical", Status: "firing", Fingerprint: "f1", Labels: labels},
		{Title: "another", Category: "disk", Severity: "info"},
	})
	relay.post(t, "alerts", []event{
		{Title: "a secret title", Category: "disk", Severity: "critical", Status: "resolved", Fingerprint: "f1", Labels: labels},
	})
	require.Eventually(t, func() bool { return strings.Count(recorded.String(), "\n") == 3 }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, recorder.Process.Signal(os.Interrupt))
	require.NoError(t, recorder.Wait())
	trace := recorded.String()
	require.NotContains(t, trace, "secret")
	require.NotContains(t, trace, `"f1"`)
	var lines []map[string]any
	for line := range strings.Lines(trace) {
		var one map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		lines = append(lines, one)
	}
	require.Len(t, lines, 3)
	require.Equal(t, "critical", lines[0]["severity"])
	require.Equal(t, "firing", lines[0]["status"])
	require.Equal(t, map[string]any{"host": "db-1"}, lines[0]["labels"])
	require.NotEmpty(t, lines[0]["fingerprint"])
	require.Equal(t, lines[0]["fingerprint"], lines[2]["fingerprint"])
	require.Equal(t, lines[0]["webhook"], lines[1]["webhook"])
	require.Empty(t, lines[2]["webhook"])
	stdout, stderr, code := runRelay(t, nil, "simulate", "--json", "--trace", configFile(t, trace), "--try", "resolves=edit")
	require.Equal(t, 0, code, stderr)
	var all struct {
		Runs []struct{ Received, Sent, Messages, Edits int }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Equal(t, 3, all.Runs[0].Messages)
	require.Equal(t, 2, all.Runs[1].Messages)
	require.Equal(t, 1, all.Runs[1].Edits)
}
