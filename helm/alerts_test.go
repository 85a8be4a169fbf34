//go:build chart

package helm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"slackrelay/test/golden"

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

// tokenReasons are the reasons of the alert for a refused credential, in the alert itself and in the one that leaves them out.
var tokenReasons = regexp.MustCompile(`(reason=~"|by hand\.\*\|)([a-z_|]*invalid_auth[a-z_|]*)"`)

// The alerts contain every code by which Slack refuses a credential: they are written from the table of codes.
func TestGoldenCodesOfTheTokenAlert(t *testing.T) {
	alerts, err := os.ReadFile("relay/files/alerts.yaml")
	require.NoError(t, err)
	require.Len(t, tokenReasons.FindAll(alerts, -1), 2)
	table, err := os.ReadFile("../notifier/testdata/codes.golden")
	require.NoError(t, err)
	var codes []string
	for _, code := range regexp.MustCompile(`(?m)^([a-z_]+) +stop token`).FindAllStringSubmatch(string(table), -1) {
		codes = append(codes, code[1])
	}
	require.Greater(t, len(codes), 10)
	golden.File(t, "relay/files/alerts.yaml", tokenReasons.ReplaceAll(alerts, []byte("${1}"+strings.Join(codes, "|")+`"`)))
}
