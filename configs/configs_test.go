package configs_test

import (
	"fmt"
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

// bad wants exactly these faults, each found by its beginning or by a part of it.
func bad(t *testing.T, yamlText string, env []string, says ...string) {
	t.Helper()
	_, err := load(t, yamlText, env...)
	require.True(t, configs.IsInvalid(err), "%v", err)
	for _, s := range says {
		require.ErrorContains(t, err, s)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), len(says)+1, err.Error())
}

func TestDefaults(t *testing.T) {
	require.Equal(t, configs.Default(), good(t, ""))
}

func TestTheSampleFileEqualsTheDefaults(t *testing.T) {
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

func TestLayers(t *testing.T) {
	file := "listen: 127.0.0.1:1111\nops_listen: 127.0.0.1:2222\ndrain: 1s\nchannels:\n  - {name: alerts, global_limit: 50, window: 5m, burst: 7}\n"
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

// Every variable of the contract, by its name.
func TestVariables(t *testing.T) {
	cfg := good(t, "", "RELAY_LISTEN=127.0.0.1:1", "RELAY_OPS_LISTEN=127.0.0.1:2", "RELAY_REDIS_ADDRS=r1:6379,r2:6379",
		"RELAY_REDIS_MASTER_NAME=mymaster", "RELAY_REDIS_TLS=true", "RELAY_REDIS_USERNAME=relay", "RELAY_REDIS_PASSWORD=pw",
		"RELAY_REDIS_WAIT_REPLICAS=1", "RELAY_REDIS_TIMEOUT=2s", "RELAY_REPLICAS=3", "RELAY_CHANNEL_ALERTS_DB_LIMIT_GROUP=team",
		"RELAY_DRAIN=7s", "RELAY_DEDUPE=2h", "RELAY_LEASE=20s", "RELAY_SLACK_TIMEOUT=4s", "RELAY_SLACK_TOKEN=xoxb-1",
		"RELAY_SLACK_API_URL=http://gw/api/", "RELAY_ALLOW_UNAUTHENTICATED=true", "RELAY_LOG_LEVEL=warn", "RELAY_LOG_FORMAT=json",
		"RELAY_CHANNELS=alerts-db, hook", "RELAY_ADMIN_TOKEN=admin",
		"RELAY_CHANNEL_ALERTS_DB_SLACK_CHANNEL=C1", "RELAY_CHANNEL_ALERTS_DB_GLOBAL_LIMIT=200", "RELAY_CHANNEL_ALERTS_DB_CATEGORY_LIMIT=20",
		"RELAY_CHANNEL_ALERTS_DB_WINDOW=1h", "RELAY_CHANNEL_ALERTS_DB_GLOBAL_WINDOW=2h", "RELAY_CHANNEL_ALERTS_DB_CATEGORY_WINDOW=3h",
		"RELAY_CHANNEL_ALERTS_DB_PACE=2s", "RELAY_CHANNEL_ALERTS_DB_BURST=5", "RELAY_CHANNEL_ALERTS_DB_ON_REDIS_DOWN=closed",
		"RELAY_CHANNEL_ALERTS_DB_INGRESS_TOKEN=in", "RELAY_CHANNEL_HOOK_SLACK_WEBHOOK_URL=https://hooks/services/x")
	hook := configs.DefaultChannel("hook")
	hook.SlackWebhookURL = "https://hooks/services/x"
	want := configs.Default()
	want.Listen, want.OpsListen, want.RedisAddrs = "127.0.0.1:1", "127.0.0.1:2", []string{"r1:6379", "r2:6379"}
	want.RedisMasterName, want.RedisTls, want.RedisUsername, want.RedisPassword = "mymaster", true, "relay", "pw"
	want.RedisWaitReplicas, want.RedisTimeout, want.Replicas = 1, 2*time.Second, 3
	want.Drain, want.Dedupe, want.Lease, want.SlackTimeout = 7*time.Second, 2*time.Hour, 20*time.Second, 4*time.Second
	want.SlackToken, want.SlackApiURL, want.AllowUnauthenticated = "xoxb-1", "http://gw/api/", true
	want.LogLevel, want.LogFormat, want.AdminToken = "warn", "json", "admin"
	alerts := configs.DefaultChannel("alerts-db")
	alerts.SlackChannel, alerts.GlobalLimit, alerts.CategoryLimit, alerts.Window = "C1", 200, 20, time.Hour
	alerts.GlobalWindow, alerts.CategoryWindow, alerts.Pace, alerts.Burst = 2*time.Hour, 3*time.Hour, 2*time.Second, 5
	alerts.OnRedisDown, alerts.IngressToken, alerts.LimitGroup = "closed", "in", "team"
	want.Channels = []configs.Channel{alerts, hook}
	require.Equal(t, want, cfg)
}

// Every plain setting of the file has a variable of its name: envconfig's spelling and ours agree.
func TestEverySettingHasItsVariable(t *testing.T) {
	values := map[string]string{
		"drain": "3s", "dedupe": "3h", "lease": "30s", "slack_timeout": "3s", "allow_unauthenticated": "true", "test_lane": "false", "log_level": "debug", "log_format": "json",
		"global_limit": "33", "category_limit": "3", "window": "3m", "global_window": "3m", "category_window": "3m", "pace": "3s", "burst": "9",
		"on_redis_down": "closed", "listen": "127.0.0.1:3", "ops_listen": "127.0.0.1:4", "redis_url": "redis://x", "slack_api_url": "http://x",
		"slack_webhook_url": "http://x/y", "redis_addrs": "h:1", "redis_cluster": "true", "redis_tls": "true", "redis_timeout": "3s",
		"redis_wait_replicas": "2", "replicas": "5", "slack_settle": "3s", "slack_posts_per_minute": "3",
		"slack_edits_per_minute": "3", "slack_lookups_per_minute": "3", "operations_webhook_url": "http://x/y", "dead_letters": "3",
		"ttl": "3m", "overflow": "delay", "max_delayed": "3", "max_delay": "3m", "bundle": "webhook", "resolves": "edit", "repeats": "merge",
		"remember_posted": "3h", "digest": "false", "digest_interval": "3m", "digest_minimum": "3", "drop_record": "3", "on_unknown": "drop",
		"allow_mentions": "true", "fallback_webhook_url": "http://x/y", "trusted_proxies": "10.0.0.0/8", "allow_from": "10.0.0.0/8",
		"max_body": "3", "max_events": "3", "max_depth": "3", "max_title": "3", "max_text": "3", "max_label": "3", "max_labels": "3", "max_event": "9000", "max_in_flight": "8388608", "max_concurrent": "3", "read_timeout": "3s",
		"canary_within": "3m", "canary_webhook_url": "http://x/y", "log_burst": "3", "otlp_endpoint": "http://x", "otlp_headers": "a=b", "trace_ratio": "0.5",
	}
	byToken := []string{"operations_slack_channel", "fallback_slack_channel"}
	ofAddrs := []string{"redis_cluster", "redis_tls", "redis_master_name"}
	var settings struct {
		Channels []map[string]any `yaml:"channels"`
		Plain    map[string]any   `yaml:",inline"`
	}
	effective, err := yaml.Marshal(configs.Default())
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(effective, &settings))
	delete(settings.Channels[0], "name")
	check := func(prefix string, names map[string]any, more ...string) {
		for name := range names {
			more := more
			if slices.Contains(ofAddrs, name) {
				more = append(slices.Clone(more), "RELAY_REDIS_ADDRS=h:1")
			}
			if slices.Contains(byToken, name) {
				more = append(slices.Clone(more), "RELAY_SLACK_TOKEN=x", "RELAY_CHANNEL_DEFAULT_SLACK_CHANNEL=C")
			}
			before := good(t, "", more...)
			value, ok := values[name]
			if strings.HasSuffix(name, "_file") {
				value, ok = write(t, "secret", "http://from/file?name=value"), true
			}
			if name == "redis_url_file" {
				value = write(t, "secret", "redis://from-file")
			}
			if !ok {
				value = "x"
			}
			cfg := good(t, "", append(more, prefix+strings.ToUpper(name)+"="+value)...)
			require.NotEqual(t, before, cfg, "%s%s", prefix, strings.ToUpper(name))
		}
	}
	delete(settings.Plain, "channels")
	for _, structured := range []string{"levels", "first_notice", "reserves", "headroom", "unknown", "mentions", "auth", "on_drop", "rules", "rule_tests"} {
		delete(settings.Channels[0], structured) // live in the file only
	}
	for _, name := range []string{
		"sources", "schedules", // too
		"canary_interval", "tls_cert_file", "tls_key_file", "tls_client_ca_file", // go together; see TestTLS and TestCanary
	} {
		delete(settings.Plain, name)
	}
	check("RELAY_", settings.Plain, "RELAY_CHANNEL_DEFAULT_SLACK_CHANNEL=C")
	check("RELAY_CHANNEL_DEFAULT_", settings.Channels[0])
}

// envconfig's bare names: nothing is read without the prefix.
func TestBareNamesAreNotRead(t *testing.T) {
	var junk []string
	for name := range strings.FieldsSeq("LISTEN OPS_LISTEN REDIS_URL DRAIN SLACK_TOKEN SLACK_API_URL CHANNELS SLACK_CHANNEL SLACK_WEBHOOK_URL GLOBAL_LIMIT CATEGORY_LIMIT WINDOW GLOBAL_WINDOW CATEGORY_WINDOW PACE BURST ON_REDIS_DOWN INGRESS_TOKEN ALLOW_UNAUTHENTICATED CONFIG LEASE DEDUPE SLACK_TIMEOUT LOG_LEVEL LOG_FORMAT LOG_BURST OTLP_ENDPOINT OTLP_HEADERS TRACE_RATIO NAME") {
		junk = append(junk, name+"=junk", name+"_FILE=/junk", "DEFAULT_"+name+"=junk", "CHANNEL_DEFAULT_"+name+"=junk")
	}
	require.Equal(t, configs.Default(), good(t, "", junk...))
}

// envconfig's default tags would overwrite the file; a variable that is set to nothing is not set.
func TestEmptyMeansUnset(t *testing.T) {
	cfg := good(t, "channels: [{name: a, window: 7m, global_limit: 70}]\nlisten: 127.0.0.1:7\n",
		"RELAY_LISTEN=", "RELAY_DRAIN=", "RELAY_CHANNELS=", "RELAY_CHANNEL_A_WINDOW=", "RELAY_CHANNEL_A_GLOBAL_LIMIT=", "RELAY_CONFIG=", "RELAY_ALLOW_UNAUTHENTICATED=")
	require.Equal(t, []any{"127.0.0.1:7", 7 * time.Minute, int64(70), "a"}, []any{cfg.Listen, cfg.Channels[0].Window, cfg.Channels[0].GlobalLimit, cfg.Channels[0].Name})
}

func TestUnknownKeys(t *testing.T) {
	bad(t, "lisen: 127.0.0.1:1\nredis.url: redis://x\nchannels:\n  - {name: a, globl_limit: 5}\n  - {name: b, WINDOW: 5m, slack.channel: x}\n", nil,
		"lisen is not a setting; did you mean listen?",
		"redis.url is not a setting; did you mean redis_url?", // viper would take it for url inside redis
		"channels[0].globl_limit is not a setting; did you mean global_limit?",
		"channels[1].slack.channel is not a setting; did you mean slack_channel?")
}

// viper lower-cases keys, so names of people are values, never keys.
func TestUserWordsKeepTheirCase(t *testing.T) {
	cfg := good(t, "Channels:\n  - {Name: a, slack_channel: C0MixedCase.dots}\n", "RELAY_SLACK_TOKEN=x")
	require.Equal(t, "C0MixedCase.dots", cfg.Channels[0].SlackChannel)
}

func TestWrongTypes(t *testing.T) {
	bad(t, "listen: 8080\ndrain: 5\nallow_unauthenticated: maybe\nchannels:\n  - {name: a, window: 30, global_limit: many, burst: 1.5}\n  - {name: 7}\n  - just text\n", nil,
		"listen must be text (put it in quotes), not 8080",
		"drain: 5 is no duration; write it with a unit, like 30m or 5s",
		"allow_unauthenticated must be true or false, not maybe",
		"channels[0].window: 30 is no duration",
		"channels[0].global_limit must be a whole number, not many",
		"channels[0].burst: 1.5 is no whole number",
		"channels[1].name must be text",
		"channels[2] must be an object with a name",
		"channels[1] ().name must be 1 to 63", "channels[2] ().name must be 1 to 63", "channels[2] () has the name of another channel")
	bad(t, "channels: {a: {window: 5m}}", nil, "channels must be a list of objects, each with a name")
	bad(t, "listen: [", nil, "cannot be read")
	bad(t, "", []string{"RELAY_CONFIG=/does/not/exist.yaml"}, "/does/not/exist.yaml cannot be read")
}

func TestBadVariables(t *testing.T) {
	bad(t, "", []string{
		"RELAY_DRAIN=5", "RELAY_ALLOW_UNAUTHENTICATED=maybe", "RELAY_CHANNEL_DEFAULT_WINDOW=30", "RELAY_CHANNEL_DEFAULT_GLOBAL_LIMIT=1e3",
	},
		`RELAY_DRAIN must be a duration with a unit, like 30m or 5s, not "5"`,
		`RELAY_ALLOW_UNAUTHENTICATED must be true or false, not "maybe"`,
		`RELAY_CHANNEL_DEFAULT_WINDOW must be a duration`,
		`RELAY_CHANNEL_DEFAULT_GLOBAL_LIMIT must be a whole number, not "1e3"`)
}

func TestEveryFaultAtOnce(t *testing.T) {
	bad(t, `
listen: nonsense
ops_listen: nonsense
redis_url: "http://user:hunter2@x"
drain: 1h
dedupe: 1ms
lease: 5s
slack_api_url: slack.example.com
slack_token: x
log_level: loud
log_format: xml
log_burst: -1
otlp_endpoint: collector:4318
otlp_headers: hunter2
trace_ratio: 2
channels:
  - {name: Bad_Name, slack_channel: C1, ingress_token: t, global_limit: 0, category_limit: -1, window: 0s, pace: -1s, burst: 0, on_redis_down: maybe}
  - {name: a, ingress_token: t, slack_channel: C1, slack_webhook_url: "https://x/services/y", global_window: 1000h, category_window: -1s}
  - {name: a, ingress_token: t, slack_webhook_url: "https://hooks.example.com/workflows/T/A/1"}
  - {name: b, slack_webhook_url: "nonsense"}
  - {name: c, ingress_token: t}
`, nil,
		`listen is "nonsense"; write host:port`, `ops_listen is "nonsense"`, "ops_listen must differ from listen",
		"redis_url is not of the form", "drain is 1h0m0s", "dedupe is 1ms", "lease is 5s and must be longer than slack_timeout, 5s",
		"slack_api_url must be an http", `log_level is "loud"; it must be debug, info, warn, error`, `log_format is "xml"`, "log_burst is -1; it must be between 0 and 1000000",
		"otlp_endpoint must be an http or https URL, like http://otel-collector:4318", "otlp_headers is not of the form name=value,name=value",
		"trace_ratio is 2; it must be between 0 and 1",
		"channels[0] (Bad_Name).name must be", "channels[0] (Bad_Name).global_limit is 0; it must be between 1 and 1000000",
		"channels[0] (Bad_Name).category_limit is -1", "channels[0] (Bad_Name).window is 0s", "channels[0] (Bad_Name).pace is -1s",
		"channels[0] (Bad_Name).burst is 0", `channels[0] (Bad_Name).on_redis_down is "maybe"; it must be local, closed, open`,
		"channels[1] (a).slack_webhook_url and slack_channel are both set", "channels[1] (a).global_window is 1000h0m0s", "channels[1] (a).category_window is -1s",
		"channels[2] (a) has the name of another channel", "channels[2] (a).slack_webhook_url is a workflow trigger",
		"channels[3] (b).slack_webhook_url must be", "channels[3] (b).ingress_token or auth is needed",
		"channels[4] (c).slack_channel or slack_webhook_url is needed")
}

func TestNoFaultHoldsASecret(t *testing.T) {
	_, err := load(t, "redis_url: \"nonsense://user:hunter2@x\"\n", "RELAY_CHANNEL_DEFAULT_SLACK_WEBHOOK_URL=hunter2")
	require.True(t, configs.IsInvalid(err))
	require.NotContains(t, err.Error(), "hunter2")
	_, err = load(t, "otlp_endpoint: http://user:hunter2@x\ntrace_ratio: .nan\n")
	require.ErrorContains(t, err, "otlp_endpoint has a user in it")
	require.ErrorContains(t, err, "trace_ratio is NaN; it must be between 0 and 1")
	require.NotContains(t, err.Error(), "hunter2")
	for _, file := range []string{
		"slack_token: 4711\n", "slack_token: [4711]\n", "channels: [{name: a, ingress_token: 4711}]\n", "x4711\n", "slack_token: {a: 4711\n", "- 4711\n",
	} {
		_, err := load(t, file)
		require.True(t, configs.IsInvalid(err), file)
		require.NotContains(t, err.Error(), "4711")
	}
	cfg := configs.Default()
	cfg.SlackToken = "hunter2"
	for _, text := range []string{fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg)} {
		require.NotContains(t, text, "hunter2")
	}
}

// What is printed is no place for a secret, and what lets anybody pass for Redis is said.
func TestAddressesAreNoSecrets(t *testing.T) {
	_, err := load(t, "slack_api_url: https://user:hunter2@gateway.example/api/\n")
	require.ErrorContains(t, err, "slack_api_url contains a user")
	require.NotContains(t, err.Error(), "hunter2")
	warnings := func(url string) string {
		loaded, err := load(t, "redis_url: "+url+"\nchannels: [{name: alerts}]\n")
		require.NoError(t, err)
		return strings.Join(loaded.Warnings, "\n")
	}
	require.Contains(t, warnings("rediss://:hunter2@redis:6379/0?skip_verify=true"), "redis_url has skip_verify=true")
	require.NotContains(t, warnings("rediss://:hunter2@redis:6379/0?skip_verify=true"), "hunter2")
	require.NotContains(t, warnings("rediss://redis:6379/0"), "skip_verify")
}

func TestAuthenticationIsNeededBeyondLoopback(t *testing.T) {
	for listen, needed := range map[string]bool{
		"127.0.0.1:1": false, "localhost:1": false, "[::1]:1": false, "127.1.2.3:1": false, ":8080": true, "0.0.0.0:1": true, "10.0.0.1:1": true,
	} {
		_, err := load(t, "", "RELAY_LISTEN="+listen)
		require.Equal(t, needed, err != nil, listen)
		_, err = load(t, "", "RELAY_LISTEN="+listen, "RELAY_ALLOW_UNAUTHENTICATED=true")
		require.NoError(t, err, listen)
		_, err = load(t, "", "RELAY_LISTEN="+listen, "RELAY_CHANNEL_DEFAULT_INGRESS_TOKEN=t")
		require.NoError(t, err, listen)
	}
}

func TestSecretFiles(t *testing.T) {
	token, url, ingress := write(t, "a", "xoxb-file\n"), write(t, "b", " redis://file \n"), write(t, "c", "in-file")
	cfg := good(t, "redis_url_file: "+url+"\nchannels: [{name: a, ingress_token: from-yaml, slack_channel: C}]\n",
		"RELAY_SLACK_TOKEN_FILE="+token, "RELAY_CHANNEL_A_INGRESS_TOKEN_FILE="+ingress)
	require.Equal(t, []configs.Secret{"xoxb-file", "redis://file", "in-file"}, []configs.Secret{cfg.SlackToken, cfg.RedisURL, cfg.Channels[0].IngressToken})

	cfg = good(t, "slack_token_file: "+token+"\nchannels: [{name: a, slack_channel: C}]\n", "RELAY_SLACK_TOKEN=xoxb-variable")
	require.Equal(t, configs.Secret("xoxb-variable"), cfg.SlackToken, "the later layer wins")

	bad(t, "", []string{"RELAY_SLACK_TOKEN=x", "RELAY_SLACK_TOKEN_FILE=" + token, "RELAY_CHANNEL_DEFAULT_SLACK_CHANNEL=C"}, "RELAY_SLACK_TOKEN and RELAY_SLACK_TOKEN_FILE are both set")
	bad(t, "", []string{"RELAY_SLACK_TOKEN_FILE=/does/not/exist"}, "RELAY_SLACK_TOKEN_FILE cannot be read")
	bad(t, "", []string{"RELAY_SLACK_TOKEN_FILE=" + write(t, "empty", "\n")}, "names the empty file")
}

// RELAY_CHANNELS is the list when set; the file's settings of a name are kept.
func TestTheListOfChannels(t *testing.T) {
	file := "channels: [{name: a, burst: 5}, {name: b, burst: 6}]\n"
	cfg := good(t, file, "RELAY_CHANNELS=b,c")
	require.Equal(t, []string{"b", "c"}, []string{cfg.Channels[0].Name, cfg.Channels[1].Name})
	require.Equal(t, []int64{6, 3}, []int64{cfg.Channels[0].Burst, cfg.Channels[1].Burst})
	bad(t, "", []string{"RELAY_CHANNELS=a,a"}, "has the name of another channel")
	bad(t, "channels: []\n", nil, "channels is empty")
}

// Two channels that could own one variable: an error that names both.
func TestContestedVariables(t *testing.T) {
	bad(t, "", []string{"RELAY_CHANNELS=a,a-global", "RELAY_CHANNEL_A_GLOBAL_WINDOW=5m"},
		"RELAY_CHANNEL_A_GLOBAL_WINDOW could belong to each of the channels a, a-global")
	cfg := good(t, "", "RELAY_CHANNELS=a,a-global", "RELAY_CHANNEL_A_WINDOW=5m")
	require.Equal(t, 5*time.Minute, cfg.Channels[0].Window, "as long as it is not set, both may be")
}

func TestUnknownVariables(t *testing.T) {
	loaded, err := load(t, "", "RELAY_LISTN=x", "RELAY_ADMINTOKEN=x", "RELAY_CHANNEL_DEFAULT_GLOBAL_LIMT=5", "RELAY_CHANNEL_OTHER_WINDOW=5m",
		// what Kubernetes makes for Services
		"RELAY_SERVICE_HOST=10.0.0.1", "RELAY_SERVICE_PORT=80", "RELAY_SERVICE_PORT_HTTP=80", "RELAY_PORT=tcp://10.0.0.1:80",
		"RELAY_PORT_80_TCP=tcp://10.0.0.1:80", "RELAY_PORT_80_TCP_ADDR=10.0.0.1", "RELAY_REDIS_SERVICE_HOST=10.0.0.2",
		"RELAY_REDIS_PORT=tcp://10.0.0.2:6379", "RELAY_REDIS_PORT_6379_TCP_PROTO=tcp", "RELAY_OPS_SERVICE_PORT_METRICS=9090")
	require.NoError(t, err)
	require.Len(t, loaded.UnknownVariables, 4, loaded.UnknownVariables)
	text := strings.Join(loaded.UnknownVariables, "\n")
	require.Contains(t, text, "RELAY_LISTN is not a setting; did you mean RELAY_LISTEN?")
	require.Contains(t, text, "RELAY_CHANNEL_DEFAULT_GLOBAL_LIMT is not a setting; did you mean RELAY_CHANNEL_DEFAULT_GLOBAL_LIMIT?")
}

func TestWarnings(t *testing.T) {
	loaded, err := load(t, "channels: [{name: a, slack_channel: C}, {name: b, global_limit: 5, category_limit: 6}]\n")
	require.NoError(t, err)
	text := strings.Join(loaded.Warnings, "\n")
	require.Contains(t, text, "redis_url is not set")
	require.Contains(t, text, "channel a has a slack_channel but slack_token is not set")
	require.Contains(t, text, "channel b has no Slack destination")
	require.Contains(t, text, "category_limit 6 is above global_limit 5")
}

func TestRedisOptionsNeverRetry(t *testing.T) {
	cfg := configs.Config{RedisURL: "rediss://user:pw@host:6380/2"}
	opts, err := cfg.Redis()
	require.NoError(t, err)
	require.Equal(t, -1, opts.MaxRetries, "a retry would count refusals twice")
	require.True(t, opts.ContextTimeoutEnabled)
	require.NotNil(t, opts.TLSConfig)
}
