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

func TestExplanationSaysWhenPeopleAreReminded(t *testing.T) {
	t.Parallel()
	config := writeFile(t, "channels: [{name: alerts, remind_after: 30m, remind_every: 2h, remind_severity: error}]\n")
	for severity, want := range map[string]bool{"error": true, "warning": false} {
		body := writeFile(t, `{"title": "x", "status": "firing", "fingerprint": "f", "severity": "`+severity+`"}`)
		text, stderr, code := runRelay(t, nil, "check", "--config", config, "--explain", body)
		require.Zero(t, code, stderr)
		const line = "30m after it is posted, by another post, unless somebody acknowledges or mutes it; then every 2h, 10 times at most"
		require.Equal(t, want, strings.Contains(text, line), text)
	}
}

func TestExplanationNamesTheChannelOfATemplate(t *testing.T) {
	t.Parallel()
	config := writeFile(t, `channels:
  - {name: alerts, rules: [{name: teams, set: {channel: "team-{{team}}"}}]}
  - {name: "team-{{team}}", fallback: alerts}
`)
	for body, want := range map[string][]string{
		`{"title": "x", "labels": {"team": "Data Base"}}`: {
			"alerts -> team-data-base", "team-{{team}}: team-data-base, unless it has max_channels others",
		},
		`{"title": "x"}`: {
			"team-{{team}}: the event has no such label, so that it goes to the fallback", "the limits of channel alerts",
		},
	} {
		text, stderr, code := runRelay(t, nil, "check", "--config", config, "--explain", writeFile(t, body))
		require.Zero(t, code, stderr)
		for _, part := range want {
			require.Contains(t, text, part)
		}
	}
}
