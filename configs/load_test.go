package configs_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slackrelay/configs"
)

// These tests set variables, so they do not run in parallel.

// clean takes every RELAY_ variable away for one test.
func clean(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "RELAY_") {
			t.Setenv(name, value) // puts it back afterwards
			os.Unsetenv(name)
		}
	}
}

func load(t *testing.T, yamlText string, env ...string) (configs.Loaded, error) {
	t.Helper()
	clean(t)
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	var flags configs.Flags
	if yamlText != "" {
		flags.File = write(t, "relay.yaml", yamlText)
	}
	return configs.Load(flags)
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func good(t *testing.T, yamlText string, env ...string) configs.Config {
	t.Helper()
	loaded, err := load(t, yamlText, env...)
	require.NoError(t, err)
	require.Empty(t, loaded.UnknownVariables)
	return loaded.Config
}

// bad requires exactly these faults, each found by a part of its text.
func bad(t *testing.T, yamlText string, env []string, parts ...string) {
	t.Helper()
	_, err := load(t, yamlText, env...)
	require.True(t, configs.IsInvalid(err), "%v", err)
	for _, s := range parts {
		require.ErrorContains(t, err, s)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), len(parts)+1, err.Error())
}

func TestWithoutAFileTheDefaultsApply(t *testing.T) {
	require.Equal(t, configs.Default(), good(t, ""))
}

func TestSampleFileShowsEverySettingAtItsDefault(t *testing.T) {
	sample, err := os.ReadFile("relay.yaml")
	require.NoError(t, err)
	require.Equal(t, configs.Default(), good(t, string(sample)))
	var all map[string]any
	require.NoError(t, yaml.Unmarshal(sample, &all))
	effective, err := yaml.Marshal(configs.Default())
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, yaml.Unmarshal(effective, &want))
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(all)), "the sample shows every setting")
	require.ElementsMatch(t, channelKeys(want), channelKeys(all), "of a channel too")
}

func channelKeys(settings map[string]any) []string {
	channels, _ := settings["channels"].([]any)
	channel, _ := channels[0].(map[string]any)
	return slices.Collect(maps.Keys(channel))
}

func TestLaterLayersTakePrecedence(t *testing.T) {
	const file = `
listen: 127.0.0.1:1111
ops_listen: 127.0.0.1:2222
drain: 1s
channels:
  - {name: alerts, global_limit: 50, window: 5m, burst: 7}
`
	cfg := good(t, file, "RELAY_OPS_LISTEN=127.0.0.1:3333", "RELAY_CHANNEL_ALERTS_WINDOW=10m")
	require.Equal(t, "127.0.0.1:1111", cfg.Listen, "the file wins over the default")
	require.Equal(t, "127.0.0.1:3333", cfg.OpsListen, "a variable wins over the file")
	require.Equal(t, time.Second, cfg.Drain)
	want := configs.DefaultChannel("alerts")
	want.GlobalLimit, want.Window, want.Burst = 50, 10*time.Minute, 7
	require.Equal(t, []configs.Channel{want}, cfg.Channels)

	clean(t)
	t.Setenv("RELAY_CONFIG", write(t, "r.yaml", file))
	t.Setenv("RELAY_LISTEN", "127.0.0.1:4444")
	loaded, err := configs.Load(configs.Flags{Listen: "127.0.0.1:5555"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:5555", loaded.Config.Listen, "a flag wins over all")
	require.Equal(t, "127.0.0.1:2222", loaded.Config.OpsListen, "RELAY_CONFIG names the file")
}

// viper lower-cases keys, so names of people are values, never keys.
func TestValuesKeepTheirCase(t *testing.T) {
	cfg := good(t, "Channels:\n  - {Name: a, slack_channel: C0MixedCase.dots}\n", "RELAY_SLACK_TOKEN=x")
	require.Equal(t, "C0MixedCase.dots", cfg.Channels[0].SlackChannel)
}

// A file that was emptied or cut off never makes a relay of one default channel.
func TestFileWithoutChannelsIsRefused(t *testing.T) {
	for text, fault := range map[string]string{
		" ":                 "is empty; list the channels in it",
		"\n\n":              "is empty",
		"# channels: [a]\n": "is empty",
		"---\n":             "is empty",
		"{}":                "is empty",
		"channels:\n":       "is empty",
		"lease: 20s":        "channels: is missing; list the channels there, or in RELAY_CHANNELS",
		"lease: 20s\nchan":  "cannot be read",
		"channels: []":      "channels: is empty",
	} {
		bad(t, text, nil, fault)
	}
	require.Equal(t, "a", good(t, "lease: 20s", "RELAY_CHANNELS=a").Channels[0].Name)
	bad(t, "# nothing", []string{"RELAY_CHANNELS=a"}, "is empty")
	require.Equal(t, "default", good(t, "").Channels[0].Name, "no file is named")
}

func TestSecretsAreReadFromFiles(t *testing.T) {
	token, url, ingress := write(t, "a", "xoxb-file\n"), write(t, "b", " redis://file \n"), write(t, "c", "in-file")
	cfg := good(t, "redis_url_file: "+url+"\nchannels: [{name: a, ingress_token: from-yaml, slack_channel: C}]\n",
		"RELAY_SLACK_TOKEN_FILE="+token, "RELAY_CHANNEL_A_INGRESS_TOKEN_FILE="+ingress)
	require.Equal(t, configs.Secret("xoxb-file"), cfg.SlackToken)
	require.Equal(t, configs.Secret("redis://file"), cfg.RedisURL)
	require.Equal(t, configs.Secret("in-file"), cfg.Channels[0].IngressToken)

	cfg = good(t, "slack_token_file: "+token+"\nchannels: [{name: a, slack_channel: C}]\n", "RELAY_SLACK_TOKEN=xoxb-variable")
	require.Equal(t, configs.Secret("xoxb-variable"), cfg.SlackToken, "the later layer wins")

	bad(t, "", []string{"RELAY_SLACK_TOKEN=x", "RELAY_SLACK_TOKEN_FILE=" + token, "RELAY_CHANNEL_DEFAULT_SLACK_CHANNEL=C"},
		"RELAY_SLACK_TOKEN: cannot be combined with RELAY_SLACK_TOKEN_FILE")
	bad(t, "", []string{"RELAY_SLACK_TOKEN_FILE=/does/not/exist"}, "RELAY_SLACK_TOKEN_FILE: cannot be read")
	bad(t, "", []string{"RELAY_SLACK_TOKEN_FILE=" + write(t, "empty", "\n")}, " is empty")
}
