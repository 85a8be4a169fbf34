//go:build chart

package helm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// metricNames are the names of all metrics in the source.
func metricNames(t *testing.T) []string {
	t.Helper()
	var known []string
	for _, pattern := range []string{"../server/*.go", "../pipeline/*.go", "../app/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, name := range regexp.MustCompile(`"(relay_[a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
				known = append(known, name[1])
			}
		}
	}
	return known
}

// The alerts fire when they should, by promtool, and every metric that they ask for exists.
func TestAlerts(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", "relay/files/alerts.yaml"}, {"test", "rules", "testdata/alerts_test.yaml"}} {
		out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	text, err := os.ReadFile("relay/files/alerts.yaml")
	require.NoError(t, err)
	known := metricNames(t)
	asked := regexp.MustCompile(`relay_[a-z_]+`).FindAllString(string(text), -1)
	require.NotEmpty(t, asked)
	for _, name := range asked {
		require.Contains(t, known, name)
	}
}

// Every code by which Slack refuses a credential is one that the alert knows.
func TestTokenAlertFiresForEveryRefusalOfTheToken(t *testing.T) {
	alerts, err := os.ReadFile("relay/files/alerts.yaml")
	require.NoError(t, err)
	pattern := regexp.MustCompile(`relay_channel_paused\{reason=~"([^"]+)"\}`).FindSubmatch(alerts)
	require.NotNil(t, pattern)
	refused := regexp.MustCompile("^(?:" + string(pattern[1]) + ")$")
	table, err := os.ReadFile("../notifier/testdata/codes.golden")
	require.NoError(t, err)
	codes := regexp.MustCompile(`(?m)^([a-z_]+) +stop token`).FindAllSubmatch(table, -1)
	require.Greater(t, len(codes), 10)
	for _, code := range codes {
		require.Regexp(t, refused, string(code[1]))
	}
	for _, reason := range []string{"rate_limited", "workspace_budget", "network", "timeout", "slack_unavailable", "by hand", ""} {
		require.NotRegexp(t, refused, reason)
	}
}
