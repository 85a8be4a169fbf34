package configs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
)

// Every variable of the contract, by its name.
func TestVariablesSetTheirSettings(t *testing.T) {
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
	want.RedisMasterName, want.RedisTLS, want.RedisUsername, want.RedisPassword = "mymaster", true, "relay", "pw"
	want.RedisWaitReplicas, want.RedisTimeout, want.Replicas = 1, 2*time.Second, 3
	want.Drain, want.Dedupe, want.Lease, want.SlackTimeout = 7*time.Second, 2*time.Hour, 20*time.Second, 4*time.Second
	want.SlackToken, want.SlackAPIURL, want.AllowUnauthenticated = "xoxb-1", "http://gw/api/", true
	want.LogLevel, want.LogFormat, want.AdminToken = "warn", "json", "admin"
	alerts := configs.DefaultChannel("alerts-db")
	alerts.SlackChannel, alerts.GlobalLimit, alerts.CategoryLimit, alerts.Window = "C1", 200, 20, time.Hour
	alerts.GlobalWindow, alerts.CategoryWindow, alerts.Pace, alerts.Burst = 2*time.Hour, 3*time.Hour, 2*time.Second, 5
	alerts.OnRedisDown, alerts.IngressToken, alerts.LimitGroup = "closed", "in", "team"
	want.Channels = []configs.Channel{alerts, hook}
	require.Equal(t, want, cfg)
}

// envconfig's bare names: nothing is read without the prefix.
func TestBareNamesAreNotRead(t *testing.T) {
	const names = `LISTEN OPS_LISTEN REDIS_URL DRAIN SLACK_TOKEN SLACK_API_URL CHANNELS SLACK_CHANNEL SLACK_WEBHOOK_URL
		GLOBAL_LIMIT CATEGORY_LIMIT WINDOW GLOBAL_WINDOW CATEGORY_WINDOW PACE BURST ON_REDIS_DOWN INGRESS_TOKEN
		ALLOW_UNAUTHENTICATED CONFIG LEASE DEDUPE SLACK_TIMEOUT LOG_LEVEL LOG_FORMAT LOG_BURST OTLP_ENDPOINT
		OTLP_HEADERS TRACE_RATIO NAME`
	var junk []string
	for name := range strings.FieldsSeq(names) {
		junk = append(junk, name+"=junk", name+"_FILE=/junk", "DEFAULT_"+name+"=junk", "CHANNEL_DEFAULT_"+name+"=junk")
	}
	require.Equal(t, configs.Default(), good(t, "", junk...))
}

// envconfig's default tags would overwrite the file; a variable that is set to nothing is not set.
func TestEmptyVariablesCountAsUnset(t *testing.T) {
	cfg := good(t, "channels: [{name: a, window: 7m, global_limit: 70}]\nlisten: 127.0.0.1:7\n",
		"RELAY_LISTEN=", "RELAY_DRAIN=", "RELAY_CHANNELS=", "RELAY_CHANNEL_A_WINDOW=", "RELAY_CHANNEL_A_GLOBAL_LIMIT=",
		"RELAY_CONFIG=", "RELAY_ALLOW_UNAUTHENTICATED=")
	require.Equal(t, "127.0.0.1:7", cfg.Listen)
	require.Equal(t, "a", cfg.Channels[0].Name)
	require.Equal(t, 7*time.Minute, cfg.Channels[0].Window)
	require.EqualValues(t, 70, cfg.Channels[0].GlobalLimit)
}

// RELAY_CHANNELS is the list when set; the file's settings of a name are kept.
func TestListOfChannelsSelectsChannelsOfTheFile(t *testing.T) {
	file := "channels: [{name: a, burst: 5}, {name: b, burst: 6}]\n"
	cfg := good(t, file, "RELAY_CHANNELS=b,c")
	require.Equal(t, []string{"b", "c"}, []string{cfg.Channels[0].Name, cfg.Channels[1].Name})
	require.Equal(t, []int64{6, 3}, []int64{cfg.Channels[0].Burst, cfg.Channels[1].Burst})
	bad(t, "", []string{"RELAY_CHANNELS=a,a"}, `RELAY_CHANNELS: "a" is the name of another channel`)
	bad(t, "channels: []\n", nil, "channels: is empty")
}

// Two channels that could own one variable: an error that names both.
func TestVariableOfTwoChannelsIsRefused(t *testing.T) {
	bad(t, "", []string{"RELAY_CHANNELS=a,a-global", "RELAY_CHANNEL_A_GLOBAL_WINDOW=5m"},
		"RELAY_CHANNEL_A_GLOBAL_WINDOW: could belong to each of the channels a, a-global")
	cfg := good(t, "", "RELAY_CHANNELS=a,a-global", "RELAY_CHANNEL_A_WINDOW=5m")
	require.Equal(t, 5*time.Minute, cfg.Channels[0].Window, "as long as it is not set, both may be")
}

func TestUnknownVariablesAreReported(t *testing.T) {
	loaded, err := load(t, "", "RELAY_LISTN=x", "RELAY_ADMINTOKEN=x", "RELAY_CHANNEL_DEFAULT_GLOBAL_LIMT=5", "RELAY_CHANNEL_OTHER_WINDOW=5m",
		// what Kubernetes makes for Services
		"RELAY_SERVICE_HOST=10.0.0.1", "RELAY_SERVICE_PORT=80", "RELAY_SERVICE_PORT_HTTP=80", "RELAY_PORT=tcp://10.0.0.1:80",
		"RELAY_PORT_80_TCP=tcp://10.0.0.1:80", "RELAY_PORT_80_TCP_ADDR=10.0.0.1", "RELAY_REDIS_SERVICE_HOST=10.0.0.2",
		"RELAY_REDIS_PORT=tcp://10.0.0.2:6379", "RELAY_REDIS_PORT_6379_TCP_PROTO=tcp", "RELAY_OPS_SERVICE_PORT_METRICS=9090")
	require.NoError(t, err)
	require.Len(t, loaded.UnknownVariables, 4, loaded.UnknownVariables)
	text := strings.Join(loaded.UnknownVariables, "\n")
	require.Contains(t, text, "RELAY_LISTN: unknown setting; did you mean RELAY_LISTEN?")
	require.Contains(t, text, "RELAY_CHANNEL_DEFAULT_GLOBAL_LIMT: unknown setting; did you mean RELAY_CHANNEL_DEFAULT_GLOBAL_LIMIT?")
}

func TestFormerNamesStillWorkWithAWarning(t *testing.T) {
	loaded, err := load(t, "dedupe: 1h\nslack_settle: 3s\nchannels: [{name: a}]\n")
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, loaded.Config.SlackLookupDelay)
	require.Contains(t, strings.Join(loaded.Warnings, "\n"), "relay.yaml:2: slack_settle: is the former name of slack_lookup_delay")

	loaded, err = load(t, "", "RELAY_SLACK_SETTLE=4s")
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, loaded.Config.SlackLookupDelay)
	require.Empty(t, loaded.UnknownVariables)
	require.Contains(t, strings.Join(loaded.Warnings, "\n"), "RELAY_SLACK_SETTLE: is the former name of RELAY_SLACK_LOOKUP_DELAY")

	bad(t, "slack_settle: 3\nchannels: [{name: a}]", nil, "slack_lookup_delay: 3 is not a duration")
	bad(t, "slack_settle: 3s\nslack_lookup_delay: 3s\nchannels: [{name: a}]", nil, "relay.yaml:1: slack_settle: unknown setting")
}
