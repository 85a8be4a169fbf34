package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain serves the bare handlers where the program under test starts itself for that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == bareCommand {
		serveBare(os.Args[2:])
		return
	}
	m.Run()
}

func TestSmallestSizeIsMeasuredAndRecorded(t *testing.T) {
	t.Chdir("../..")
	history := filepath.Join(t.TempDir(), "scale.csv")
	var table, progress bytes.Buffer
	args := []string{
		"-channels", "2", "-replicas", "2", "-idle", "200ms", "-load", "200ms", "-lease", "4s", "-record", "v0.0.0", "-history", history,
	}
	require.NoError(t, run(t.Context(), args, &table, &progress), "%s", &progress)
	recorded, err := os.ReadFile(history)
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(string(recorded)), "\n")
	require.Equal(t, "version,date,cpus,channels,replicas,figure,unit,value", rows[0])
	require.NotContains(t, string(recorded), "time-out")
	for _, figure := range []string{
		"idle: script calls", "failover: all delivered", "closed, 20 alerts, against it", "open limits: delivered afterwards",
	} {
		require.Contains(t, table.String(), figure)
		require.Contains(t, string(recorded), figure)
	}
	for _, none := range []string{"failover: lost", "failover: posted twice", "failover: out of order"} {
		require.Contains(t, string(recorded), ",2,2,"+none+",1,0\n")
	}
}

func TestUnknownMeasurementIsRefused(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), []string{"-measure", "weight"}, &bytes.Buffer{}, &bytes.Buffer{})
	require.EqualError(t, err, `-measure: "weight" is not time or memory`)
}

func TestClusterIsMeasured(t *testing.T) {
	t.Chdir("../..")
	var table, progress bytes.Buffer
	args := []string{"-cluster", "-channels", "2", "-replicas", "1", "-idle", "200ms", "-load", "0s", "-lease", "4s"}
	require.NoError(t, run(t.Context(), args, &table, &progress), "%s", &progress)
	require.Contains(t, table.String(), "failover: all delivered")
	require.NotContains(t, table.String(), "time-out")
}

func TestOptionsThatAreNoNumbersAreRefused(t *testing.T) {
	t.Parallel()
	for _, channels := range []string{"many", "0", "10,100"} {
		err := run(t.Context(), []string{"-channels", channels}, &bytes.Buffer{}, &bytes.Buffer{})
		require.ErrorContains(t, err, "is not a number of 1 or more")
	}
}

func TestMessageAfterALaterOneIsOutOfOrder(t *testing.T) {
	t.Parallel()
	repeated := []message{{"a", "1"}, {"b", "1"}, {"a", "2"}, {"a", "1"}, {"a", "3"}}
	require.Zero(t, disordered(repeated))
	require.Equal(t, 4, distinct(repeated))
	require.Equal(t, 1, disordered([]message{{"a", "2"}, {"a", "1"}, {"a", "3"}}))
}

func TestHistoryGetsItsHeaderOnce(t *testing.T) {
	t.Parallel()
	history := filepath.Join(t.TempDir(), "scale.csv")
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, version := range []string{"v1.0.0", "v1.1.0"} {
		require.NoError(t, appendHistory(history, version, day, []figure{{size{10, 3}, "ready", "s", 0.0123456}}))
	}
	recorded, err := os.ReadFile(history)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(recorded), strings.Join(historyHeader, ",")))
	require.Regexp(t, `(?m)^v1\.1\.0,2026-11-21,\d+,10,3,ready,s,0\.0123$`, string(recorded))
}
