package test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slackrelay/configs"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	return string(text)
}

// docs/configuration.md has all settings.
func TestReadmeNamesSettingsWithTheirDefaults(t *testing.T) {
	t.Parallel()
	encoded, err := yaml.Marshal(configs.Default())
	require.NoError(t, err)
	var defaults map[string]any
	require.NoError(t, yaml.Unmarshal(encoded, &defaults))
	channel := defaults["channels"].([]any)[0].(map[string]any)
	delete(defaults, "channels")
	for _, structured := range []string{
		"name", "levels", "first_notice", "reserves", "headroom", "unknown", "mentions", "auth", "on_drop",
		"rules", "rule_tests",
	} {
		delete(channel, structured) // live in the file only
	}
	delete(defaults, "sources")
	delete(defaults, "schedules")
	want := map[string]string{"RELAY_CONFIG": "", "RELAY_CHANNELS": ""}
	add := func(prefix string, settings map[string]any) {
		for name, value := range settings {
			if strings.HasSuffix(name, "_file") {
				continue // said once, below the table
			}
			want[prefix+strings.ToUpper(name)] = canonical(t, value)
		}
	}
	add("RELAY_", defaults)
	add("RELAY_CHANNEL_<NAME>_", channel)
	got := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(RELAY_[^`]+)` \\| .* \\| (?:`([^`]*)`)? ?\\|$").FindAllStringSubmatch(readme(t), -1) {
		got[row[1]] = canonical(t, row[2])
	}
	require.Greater(t, len(got), 20)
	for name, value := range got {
		require.Contains(t, want, name)
		require.Equal(t, want[name], value, name)
	}
}

// canonical writes a value as text, durations in one way.
func canonical(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	text := strings.Trim(string(encoded), `"`)
	if text == "[]" {
		return "" // an empty list
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d.String()
	}
	return text
}

func TestCommandsOfTheReadmeWork(t *testing.T) {
	t.Parallel()
	text := readme(t)
	relay := startRelay(t)
	for _, body := range regexp.MustCompile(`curl -d '([^']+)' http://127.0.0.1:8080(/hooks/\w+)`).FindAllStringSubmatch(text, -1) {
		status, answer := request(t, http.MethodPost, relay.public+body[2], "", []byte(body[1]))
		require.Equal(t, http.StatusAccepted, status, "%s", answer)
		require.Contains(t, string(answer), `"outcome":"admitted"`)
	}
	for _, path := range regexp.MustCompile(`curl http://127.0.0.1:9090(/\S+)`).FindAllStringSubmatch(text, -1) {
		status, answer := request(t, http.MethodGet, relay.ops+path[1], "", nil)
		require.Equal(t, http.StatusOK, status, "%s", answer)
	}
	receipt := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(text)
	require.True(t, json.Valid([]byte(receipt[1])), "the receipt")

	var env []string
	for _, v := range regexp.MustCompile(`(?m)^export (RELAY_\w+=\S+)`).FindAllStringSubmatch(text, -1) {
		env = append(env, v[1])
	}
	require.Len(t, env, 5)
	_, stderr, code := runRelay(t, env, "check")
	require.Equal(t, 0, code, stderr)
}
