package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/test/golden"
)

// Each body in testdata/explain has beside it what relay check --explain prints for it.
func TestGoldenExplanations(t *testing.T) {
	t.Parallel()
	config := writeFile(t, "channels: [{name: alerts}]\n")
	files, err := filepath.Glob("testdata/explain/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, stderr, code := runRelay(t, nil, "check", "--config", config, "--explain", file)
			require.Zero(t, code, stderr)
			golden.File(t, strings.TrimSuffix(file, ".json")+".txt", []byte(text))
			asJSON, stderr, code := runRelay(t, nil, "check", "--config", config, "--explain", file, "--json")
			require.Zero(t, code, stderr)
			golden.File(t, strings.TrimSuffix(file, ".json")+".explained", []byte(asJSON))
			if filepath.Base(file) == "nested.json" {
				golden.Block(t, "../../docs/sources.md", "explained", "```text\n"+strings.TrimSpace(text)+"\n```\n")
			}
		})
	}
}

func TestExplanationNamesTheHeartbeat(t *testing.T) {
	t.Parallel()
	config := writeFile(t, `heartbeats: [{name: watchdog, channel: alerts, every: 5m, match: [{field: category, is: watchdog}]}]
channels: [{name: alerts}]
`)
	body := writeFile(t, `{"title":"Watchdog","category":"watchdog"}`)
	text, stderr, code := runRelay(t, nil, "check", "--config", config, "--explain", body)
	require.Zero(t, code, stderr)
	require.Contains(t, text, "heartbeat watchdog: muted")
}
