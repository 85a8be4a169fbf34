package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// runs are the numbers of relay simulate --json.
type runs struct {
	Runs []struct {
		Name                    string
		Received, Sent, Dropped int
		Categories              []struct {
			Category         string
			Received         int
			FirstNoticeDelay *float64 `json:"first_notice_delay"`
		}
	}
}

func simulate(t *testing.T, args ...string) runs {
	t.Helper()
	stdout, stderr, code := runRelay(t, nil, append([]string{"simulate", "--json"}, args...)...)
	require.Equal(t, 0, code, stderr)
	var all runs
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	return all
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	all := simulate(t, "--generate", "storm", "--events", "5000", "--try", "global_limit=50,category_limit=5", "--try", "strategy=fixed-window,window=10m")
	require.Len(t, all.Runs, 3)
	require.Equal(t, []any{"default", 5000}, []any{all.Runs[0].Name, all.Runs[0].Received})
	require.Equal(t, 5000, all.Runs[0].Sent+all.Runs[0].Dropped)
	require.Less(t, all.Runs[1].Sent, all.Runs[0].Sent)
	require.Greater(t, all.Runs[2].Sent, all.Runs[0].Sent)
	require.Len(t, all.Runs[0].Categories, 20)

	all = simulate(t, "--generate", "storm", "--events", "5000", "--try", "engine=multi", "--try", "strategy=fixed-window",
		"--try", "engine=multi,strategy=per-second,window=1s,global_limit=2,category_limit=1")
	require.Less(t, all.Runs[1].Sent, 5000)
	require.Equal(t, all.Runs[2].Sent, all.Runs[1].Sent, "with one sender, its fixed windows are those of the scripts")
	require.Greater(t, all.Runs[3].Sent, all.Runs[1].Sent)

	dir := t.TempDir()
	old, changed := file(t, "channels: [{name: alerts}]\n"), file(t, "channels: [{name: alerts, global_limit: 200, first_notice: {mode: auto}}]\n")
	all = simulate(t, "--generate", "many", "--events", "3000", "--config", changed, "--against", old)
	require.Equal(t, []string{changed, old}, []string{all.Runs[0].Name, all.Runs[1].Name})
	require.Greater(t, all.Runs[0].Sent, all.Runs[1].Sent)

	report := filepath.Join(dir, "report.html")
	stdout, stderr, code := runRelay(t, nil, "simulate", "--events", "1000", "--out", report)
	require.Equal(t, 0, code, stderr)
	require.Regexp(t, `LIMITS +RECEIVED +SENT +DROPPED +DUPLICATE\ndefault +1000 +`, stdout)
	require.Contains(t, stdout, "the report is in "+report)
	require.Contains(t, stderr, "100%")
	page, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Contains(t, string(page), "<svg")

	for says, args := range map[string][]string{
		`there is no trace of kind "odd"`:         {"--generate", "odd"},
		"--events is 0":                           {"--events", "0"},
		"must end in .html or .svg":               {"--out", "x.pdf"},
		"keep one":                                {"--trace", "x", "--generate", "storm"},
		"no such file":                            {"--trace", "/does/not/exist"},
		`strategy is "magic", which is unknown`:   {"--try", "strategy=magic"},
		"globl_limit is not a setting":            {"--try", "globl_limit=5"},
		"engine was removed":                      {"--try", "engine=script"},
		"the strategy gcra is not supported; use": {"--try", "engine=multi,strategy=gcra"},
		"global_limit is 0; it must be":           {"--try", "global_limit=0"},
		"is not of the form name=value":           {"--try", "x"},
		`the configuration has no channel "nope"`: {"--channel", "nope"},
	} {
		_, stderr, code := runRelay(t, nil, append([]string{"simulate"}, args...)...)
		require.NotZero(t, code, says)
		require.Contains(t, stderr, says)
	}
}

// What a relay counted can be played again, against other limits.
func TestRecordAndSimulate(t *testing.T) {
	t.Parallel()
	slack := startSlack(t)
	relay := startRelay(t, fast("", slack, "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2")...)
	_, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=alerts"}, "record", "--ops-url", relay.ops)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "channel alerts received nothing in the last 24h")
	relay.take(t, "alerts", []event{{Title: "1", Category: "disk"}, {Title: "2", Category: "disk"}, {Title: "3", Category: "disk"}, {Title: "4", Category: "net"}})
	relay.settled(t, "alerts", 10*time.Second)
	stdout, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=alerts"}, "record", "--ops-url", relay.ops, "--back", "1h")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, 4, strings.Count(stdout, "\n"))
	all := simulate(t, "--trace", file(t, stdout), "--try", "category_limit=2")
	require.Equal(t, []int{4, 4, 3}, []int{all.Runs[0].Received, all.Runs[0].Sent, all.Runs[1].Sent})
}
