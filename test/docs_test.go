package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/server"
)

// They are configurations of the relay and of Alertmanager, and webhooks.
func TestSnippetsOfTheDocsAreValid(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	for _, name := range []string{"prometheus", "github", "github-next", "sentry", "grafana", "billing", "relay", "operators", "karma"} {
		require.NoError(t, os.WriteFile(filepath.Join(secrets, name), []byte("s3cret"), 0o600))
	}
	for _, doc := range []string{"sources", "rules", "recipes", "problems", "alertmanager-api"} {
		text, err := os.ReadFile("../docs/" + doc + ".md")
		require.NoError(t, err)
		for i, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			path := configFile(t, strings.ReplaceAll(block[1], "/run/secrets", secrets))
			t.Run(fmt.Sprintf("%s, block %d", doc, i), func(t *testing.T) {
				_, stderr, code := runRelay(t, nil, "check", "--config", path)
				require.Equal(t, 0, code, stderr)
			})
		}
		for _, block := range regexp.MustCompile("(?s)```yaml alertmanager\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			out, err := exec.CommandContext(t.Context(), "amtool", "check-config", configFile(t, block[1])).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		for _, block := range regexp.MustCompile("(?s)```yaml prometheus\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			file := configFile(t, strings.ReplaceAll(block[1], "/run/secrets", secrets))
			out, err := exec.CommandContext(t.Context(), "promtool", "check", "config", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			stdout, stderr, code := runRelay(t, nil, "check", "--explain", configFile(t, block[1]))
			require.Equal(t, 0, code, stderr)
			require.Regexp(t, `(?m)^source +(healthchecks|argocd|datadog|kibana|opensearch|generic)$`, stdout)
		}
	}
}

func TestLinksOfTheDocsLeadSomewhere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	for _, path := range append(files, "../README.md") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, link := range regexp.MustCompile(`\]\(([^)#h][^)#]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(filepath.Dir(path), link[1])
			_, err := os.Stat(target)
			require.NoError(t, err, path)
			if link[2] != "" {
				there, err := os.ReadFile(target)
				require.NoError(t, err, path)
				require.Contains(t, headingAnchors(string(there)), link[2], path)
			}
		}
	}
	sample, err := os.ReadFile("../configs/relay.yaml")
	require.NoError(t, err)
	for _, page := range regexp.MustCompile(`docs/\S+\.md`).FindAllString(string(sample), -1) {
		require.FileExists(t, filepath.Join("..", page))
	}
}

func TestChartHasTheVersionOfTheNewestRelease(t *testing.T) {
	t.Parallel()
	changes, err := os.ReadFile("../CHANGELOG.md")
	require.NoError(t, err)
	newest := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$`).FindSubmatch(changes)
	require.NotNil(t, newest)
	chart, err := os.ReadFile("../helm/relay/Chart.yaml")
	require.NoError(t, err)
	require.Contains(t, string(chart), "\nversion: "+string(newest[1])+"\nappVersion: "+string(newest[1])+"\n")
}

func TestDocsNameEverySourceAndCredentialKind(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/sources.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)`.*\\|$").FindAllStringSubmatch(string(text), -1)
	var named []string
	for _, row := range rows {
		named = append(named, row[1])
	}
	decoder, err := events.NewDecoder(events.Options{})
	require.NoError(t, err)
	for _, source := range decoder.Sources() {
		require.Contains(t, named, source)
	}
	for _, kind := range server.CredentialKinds() {
		require.Contains(t, string(text), "`"+kind+"`")
	}
}
