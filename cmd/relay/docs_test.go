package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/server"
)

// What docs/sources.md and docs/rules.md show is a valid configuration, and their templates are understood.
func TestSnippets(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	for _, name := range []string{"prometheus", "github", "github-next", "sentry", "grafana", "billing"} {
		require.NoError(t, os.WriteFile(filepath.Join(secrets, name), []byte("s3cret"), 0o600))
	}
	for _, doc := range []string{"sources", "rules"} {
		text, err := os.ReadFile("../../docs/" + doc + ".md")
		require.NoError(t, err)
		for i, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			path := file(t, strings.ReplaceAll(block[1], "/run/secrets", secrets))
			_, stderr, code := runRelay(t, nil, "check", "--config", path)
			require.Equal(t, 0, code, "%s, block %d: %s", doc, i, stderr)
		}
		for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			stdout, stderr, code := runRelay(t, nil, "check", "--explain", file(t, block[1]))
			require.Equal(t, 0, code, stderr)
			require.Regexp(t, `(?m)^source +(healthchecks|argocd|datadog)$`, stdout)
		}
	}
}

// The tables of docs/sources.md name every source and every kind of credential.
func TestTheTablesOfSenders(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/sources.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)`.*\\|$").FindAllStringSubmatch(string(text), -1)
	var named []string
	for _, row := range rows {
		named = append(named, row[1])
	}
	for _, source := range events.Sources() {
		require.Contains(t, named, source)
	}
	for _, kind := range server.CredentialKinds() {
		require.Contains(t, string(text), "`"+kind+"`")
	}
}
