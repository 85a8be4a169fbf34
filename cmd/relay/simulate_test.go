package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runs is the output of relay simulate --json.
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

func TestSimulateComparesLimits(t *testing.T) {
	t.Parallel()
	all := simulate(t, "--generate", "storm", "--events", "5000", "--try", "global_limit=50,category_limit=5", "--try",
		"strategy=fixed-window,window=10m")
	require.Len(t, all.Runs, 3)
	require.Equal(t, "default", all.Runs[0].Name)
	require.Equal(t, 5000, all.Runs[0].Received)
	require.Equal(t, 5000, all.Runs[0].Sent+all.Runs[0].Dropped)
	require.Less(t, all.Runs[1].Sent, all.Runs[0].Sent)
	require.Greater(t, all.Runs[2].Sent, all.Runs[0].Sent)
	require.Len(t, all.Runs[0].Categories, 20)
}

func TestSimulateComparesTheLimiterWithoutScripts(t *testing.T) {
	t.Parallel()
	all := simulate(t, "--generate", "storm", "--events", "5000", "--try", "engine=multi", "--try", "strategy=fixed-window",
		"--try", "engine=multi,strategy=per-second,global_limit=2,category_limit=1")
	require.Less(t, all.Runs[1].Sent, 5000)
	require.Equal(t, all.Runs[2].Sent, all.Runs[1].Sent, "with one sender, its fixed windows are those of the scripts")
	require.Greater(t, all.Runs[3].Sent, all.Runs[1].Sent)
}

func TestSimulateDrainsABacklog(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "channels: [{name: alerts, pace: 100ms, burst: 1, levels: ["+
		"{name: channel, strategy: backlog, windows: [{limit: 10}]}, {name: category, windows: [{limit: 1000, per: 30m}]}]}]\n")
	var trace strings.Builder
	for i := range 400 {
		fmt.Fprintf(&trace, "{\"at\":%g,\"category\":\"a\"}\n", float64(i)/40)
	}
	stdout, stderr, code := runRelay(t, nil, "simulate", "--json", "--trace", writeFile(t, trace.String()), "--config", file)
	require.Equal(t, 0, code, stderr)
	var all runs
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.InDelta(t, 10*10+10, all.Runs[0].Sent, 2, "10 a second for 10 s leave the outbox, and 10 wait in the end")
}

func TestSimulateAdvises(t *testing.T) {
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.html")
	stdout, stderr, code := runRelay(t, nil, "simulate", "--generate", "day", "--events", "6000", "--advise", "--out", report)
	require.Equal(t, 0, code, stderr)
	require.Regexp(t, `(?m)^With .*first_notice.mode auto instead of off, [\d,]+ messages instead of [\d,]+ would have been `, stdout)
	require.Contains(t, stdout, "Compared with 23 other settings: all combinations of global_limit 50, 100, 200; "+
		"category_limit 2, 5, 10, 20; first_notice.mode off, auto.")
	page, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Contains(t, string(page), `<div class="advice">`)

	stdout, _, code = runRelay(t, nil, "simulate", "--generate", "steady", "--events", "50", "--advise", "--json")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, `"sentence": "Nothing better was found: 50 messages for 50 events; no category went unheard for `)
}

func TestSimulateComparesConfigurations(t *testing.T) {
	t.Parallel()
	old := writeFile(t, "channels: [{name: alerts}]\n")
	changed := writeFile(t, "channels: [{name: alerts, global_limit: 200, first_notice: {mode: auto}}]\n")
	all := simulate(t, "--generate", "many", "--events", "3000", "--config", changed, "--against", old)
	require.Equal(t, changed, all.Runs[0].Name)
	require.Equal(t, old, all.Runs[1].Name)
	require.Greater(t, all.Runs[0].Sent, all.Runs[1].Sent)
}

func TestSimulateWritesAReport(t *testing.T) {
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.html")
	stdout, stderr, code := runRelay(t, nil, "simulate", "--events", "1000", "--out", report)
	require.Equal(t, 0, code, stderr)
	require.Regexp(t, `SETTINGS +EVENTS +MESSAGES +UNHEARD +CRITICAL LOST +LONGEST SILENCE .*\ndefault +1000 +`, stdout)
	require.Contains(t, stdout, "the report is in "+report)
	require.Empty(t, stderr, "a pipe gets no progress bar")
	page, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Contains(t, string(page), "<svg")
}

func TestSimulateRefusesWhatItCannotPlay(t *testing.T) {
	t.Parallel()
	for fault, args := range map[string][]string{
		`trace kind "odd" does not exist`:         {"--generate", "odd"},
		"--events is 0":                           {"--events", "0"},
		"must end in .html or .svg":               {"--out", "x.pdf"},
		"keep one":                                {"--trace", "x", "--generate", "storm"},
		"no such file":                            {"--trace", "/does/not/exist"},
		"on_redis_down: does not change what a":   {"--try", "on_redis_down=open"},
		`strategy: "magic" is not a valid value`:  {"--try", "strategy=magic"},
		"globl_limit: unknown setting":            {"--try", "globl_limit=5"},
		"engine: was removed":                     {"--try", "engine=script"},
		"the strategy gcra is not supported; use": {"--try", "engine=multi,strategy=gcra"},
		"global_limit: 0 is out of range":         {"--try", "global_limit=0"},
		"is not a setting with a value":           {"--try", "x"},
		`the configuration has no channel "nope"`: {"--channel", "nope"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			_, stderr, code := runRelay(t, nil, append([]string{"simulate"}, args...)...)
			require.NotZero(t, code)
			require.Contains(t, stderr, fault)
		})
	}
}
