package configs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/notifier"
)

func TestUnknownSettingIsRefusedWithTheNearestName(t *testing.T) {
	bad(t, `lisen: 127.0.0.1:1
redis.url: redis://x
channels:
  - {name: a, globl_limit: 5}
  - {name: b, WINDOW: 5m, slack.channel: x}
`, nil,
		"relay.yaml:1: lisen: unknown setting; did you mean listen?",
		"relay.yaml:2: redis.url: unknown setting; did you mean redis_url?", // viper would take it for url inside redis
		"relay.yaml:4: channels[0].globl_limit: unknown setting; did you mean global_limit?",
		"relay.yaml:5: channels[1].slack.channel: unknown setting; did you mean slack_channel?")
}

func TestValueOfAWrongTypeIsRefused(t *testing.T) {
	bad(t, `listen: 8080
drain: 5
allow_unauthenticated: maybe
channels:
  - {name: a, window: 30, global_limit: many, burst: 1.5}
  - {name: 7}
  - just text
`, nil,
		"relay.yaml:1: listen: 8080 is not text; put it in quotes",
		"relay.yaml:2: drain: 5 is not a duration; use a unit, for example 5m",
		"relay.yaml:3: allow_unauthenticated: maybe is not true or false",
		"relay.yaml:5: channels[0].window: 30 is not a duration",
		"relay.yaml:5: channels[0].global_limit: many is not a whole number",
		"relay.yaml:5: channels[0].burst: 1.5 is not a whole number",
		"relay.yaml:6: channels[1].name: 7 is not text",
		"relay.yaml:7: channels[2]: is not an object; write one with a name")
	bad(t, "channels: {a: {window: 5m}}", nil, "channels: is not a list; write a list of objects, each with a name")
	bad(t, "listen: [", nil, "relay.yaml:1: cannot be read: ")
	bad(t, "", []string{"RELAY_CONFIG=/does/not/exist.yaml"}, "/does/not/exist.yaml: cannot be read")
}

func TestVariableOfAWrongTypeIsRefused(t *testing.T) {
	bad(t, "", []string{
		"RELAY_DRAIN=5", "RELAY_ALLOW_UNAUTHENTICATED=maybe", "RELAY_CHANNEL_DEFAULT_WINDOW=30", "RELAY_CHANNEL_DEFAULT_GLOBAL_LIMIT=1e3",
	},
		`RELAY_DRAIN: "5" is not a duration; use a unit, for example 5m`,
		`RELAY_ALLOW_UNAUTHENTICATED: "maybe" is not true or false`,
		`RELAY_CHANNEL_DEFAULT_WINDOW: "30" is not a duration`,
		`RELAY_CHANNEL_DEFAULT_GLOBAL_LIMIT: "1e3" is not a whole number`)
}

func TestEveryFaultIsReportedAtOnce(t *testing.T) {
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
  - {name: Bad_Name, slack_channel: C1, ingress_token: t, global_limit: 0, category_limit: -1, window: 0s, pace: -1s, burst: 0,
     on_redis_down: maybe}
  - {name: a, ingress_token: t, slack_channel: C1, slack_webhook_url: "https://x/services/y", global_window: 1000h, category_window: -1s}
  - {name: a, ingress_token: t, slack_webhook_url: "https://hooks.example.com/workflows/T/A/1"}
  - {name: b, slack_webhook_url: "nonsense"}
  - {name: c, ingress_token: t}
`, nil,
		`relay.yaml:2: listen: "nonsense" is not an address; use host:port`,
		`relay.yaml:3: ops_listen: "nonsense" is not an address`,
		`relay.yaml:3: ops_listen: "nonsense" is also the value of listen`,
		"relay.yaml:4: redis_url: the value is not a Redis URL; use redis://",
		"relay.yaml:5: drain: 1h is out of range; use 0s to 10m",
		"relay.yaml:6: dedupe: 1ms is out of range",
		"relay.yaml:7: lease: 5s is too short; use more than slack_timeout, 5s",
		"relay.yaml:8: slack_api_url: the value is not a URL; use one that begins with http",
		`relay.yaml:10: log_level: "loud" is not a valid value; use debug, info, warn or error`,
		`relay.yaml:11: log_format: "xml" is not a valid value`,
		"relay.yaml:12: log_burst: -1 is out of range; use 0 to 1000000",
		"relay.yaml:13: otlp_endpoint: the value is not a URL",
		"relay.yaml:14: otlp_headers: the value is not a list of headers; use name=value,name=value",
		"relay.yaml:15: trace_ratio: 2 is out of range; use 0 to 1",
		`relay.yaml:17: channels[0].name: "Bad_Name" is not a valid name`,
		"relay.yaml:17: channels[0].global_limit: 0 is out of range; use 1 to 1000000",
		"relay.yaml:17: channels[0].category_limit: -1 is out of range",
		"relay.yaml:17: channels[0].window: 0s is out of range",
		"relay.yaml:17: channels[0].pace: -1s is out of range",
		"relay.yaml:17: channels[0].burst: 0 is out of range",
		`relay.yaml:18: channels[0].on_redis_down: "maybe" is not a valid value; use local, closed or open`,
		"relay.yaml:19: channels[1].slack_webhook_url: cannot be combined with slack_channel",
		"relay.yaml:19: channels[1].global_window: 1000h is out of range; use 1ms to 744h, or 0s",
		"relay.yaml:19: channels[1].category_window: -1s is out of range",
		`relay.yaml:20: channels[2].name: "a" is the name of another channel`,
		"relay.yaml:20: channels[2].slack_webhook_url: the value is a workflow trigger",
		"relay.yaml:21: channels[3].slack_webhook_url: the value is not a URL",
		"relay.yaml:21: channels[3].ingress_token: is empty, so that anyone who reaches nonsense could send to channel b",
		"relay.yaml:22: channels[4].slack_channel: is empty, although slack_token is set")
}

func TestNoFaultContainsASecret(t *testing.T) {
	_, err := load(t, "redis_url: \"nonsense://user:hunter2@x\"\n", "RELAY_CHANNEL_DEFAULT_SLACK_WEBHOOK_URL=hunter2")
	require.True(t, configs.IsInvalid(err))
	require.NotContains(t, err.Error(), "hunter2")
	_, err = load(t, "otlp_endpoint: http://user:hunter2@x\ntrace_ratio: .nan\n")
	require.ErrorContains(t, err, "otlp_endpoint: contains a user")
	require.ErrorContains(t, err, "trace_ratio: NaN is out of range; use 0 to 1")
	require.NotContains(t, err.Error(), "hunter2")
	for _, file := range []string{
		"slack_token: 4711\n", "slack_token: [4711]\n", "channels: [{name: a, ingress_token: 4711}]\n", "x4711\n",
		"slack_token: {a: 4711\n", "- 4711\n",
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

// These URLs are printed, so they must not contain a password.
func TestURLsWithCredentialsAreRefusedOrMasked(t *testing.T) {
	_, err := load(t, "slack_api_url: https://user:hunter2@gateway.example/api/\n")
	require.ErrorContains(t, err, "slack_api_url: contains a user")
	require.NotContains(t, err.Error(), "hunter2")
	warnings := func(url string) string {
		loaded, err := load(t, "redis_url: "+url+"\nchannels: [{name: alerts}]\n")
		require.NoError(t, err)
		return strings.Join(loaded.Warnings, "\n")
	}
	const unverified = "rediss://:hunter2@redis:6379/0?skip_verify=true"
	require.Contains(t, warnings(unverified), "redis_url: skip_verify=true makes the relay accept any server")
	require.NotContains(t, warnings(unverified), "hunter2")
	require.NotContains(t, warnings("rediss://redis:6379/0"), "skip_verify")
}

func TestAuthenticationIsRequiredBeyondLoopback(t *testing.T) {
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

// An empty item would make a list that allows everyone.
func TestEmptyItemOfAllowFromIsRefused(t *testing.T) {
	bad(t, `channels: [{name: a, allow_from: [10.0.0.7, ""]}]`, nil,
		`relay.yaml:1: channels[0].allow_from[1]: "" is not an address or a range`)
	bad(t, "", []string{"RELAY_CHANNEL_DEFAULT_ALLOW_FROM=10.0.0.7,"}, `RELAY_CHANNEL_DEFAULT_ALLOW_FROM: "" is not an address or a range`)
}

func TestFaultNamesTheChannelOfTheFile(t *testing.T) {
	bad(t, "channels:\n  - name: a\n  - name: b\n    burst: 0\n", []string{"RELAY_CHANNELS=b,c", "RELAY_CHANNEL_C_PACE=2h"},
		"relay.yaml:4: channels[1].burst: 0 is out of range", "RELAY_CHANNEL_C_PACE: 2h is out of range")
}

// A value of a wrong type hides no unknown setting.
func TestUnknownSettingIsReportedBesideAWrongType(t *testing.T) {
	bad(t, "listen: 8080\nlsten: x\nchannels: [{name: a}]\n", nil,
		"relay.yaml:1: listen: 8080 is not text", "relay.yaml:2: lsten: unknown setting; did you mean listen?")
}

func TestEveryFaultOfClassificationIsReported(t *testing.T) {
	bad(t, `
schedules:
  - {name: a, time_intervals: [{times: [{start_time: "25:00", end_time: "26:00"}]}]}
  - {name: b}
  - {name: a, time_intervals: [{}]}
sources:
  - {name: "A b", title: body.x}
  - {name: mine, title: "body..", severity: "1 +"}
channels:
  - name: a
    rules:
      - {name: r, match: [{field: colour, is: x}, {field: title}], when: "sev =="}
      - {name: s, set: {severity: fatal, status: open}, during: [never]}
`, nil,
		"relay.yaml:3: schedules[0].time_intervals: cannot be read: ",
		"relay.yaml:4: schedules[1]: needs a name and time_intervals",
		`relay.yaml:5: schedules[2].name: "a" is the name of another schedule`,
		"relay.yaml:7: sources[0].name: \"A b\" is not a valid name",
		"relay.yaml:8: sources[1].title: ",
		"relay.yaml:8: sources[1].severity: ",
		`relay.yaml:12: channels[0].rules[0].match[0]: field "colour" is unknown`,
		`relay.yaml:12: channels[0].rules[0].match[1]: field "title" needs one of`,
		"relay.yaml:12: channels[0].rules[0].when: ",
		`relay.yaml:13: channels[0].rules[1].set.severity: "fatal" is not a severity; use critical, error, warning or info`,
		`relay.yaml:13: channels[0].rules[1].set.status: "open" is not a status; use firing, resolved or none`,
		`relay.yaml:13: channels[0].rules[1].during: schedule "never" does not exist`)
}

func TestListsAndObjectsAreRefusedInPlainWords(t *testing.T) {
	bad(t, `trusted_proxies: 10.0.0.7
channels:
  - {name: a, levels: {name: x}, first_notice: fixed, auth: {kind: bearer, secret: geheim}}
`, nil,
		"relay.yaml:1: trusted_proxies: is not a list; write it like [a, b]",
		"relay.yaml:3: channels[0].levels: is not a list; write it like [a, b]",
		"relay.yaml:3: channels[0].first_notice: is not an object; write it like {name: value}",
		"relay.yaml:3: channels[0].auth: is not a list; write it like [a, b]")
}

func TestNameOfAChannelIsAFaultOfTheVariableThatListsIt(t *testing.T) {
	bad(t, "", []string{"RELAY_CHANNELS=a,B,a"},
		`RELAY_CHANNELS: "B" is not a valid name`,
		`RELAY_CHANNELS: "a" is the name of another channel`)
}

func TestExternalURLIsAnAddressThatEverybodyMaySee(t *testing.T) {
	for address, fault := range map[string]string{
		"relay.example.com":                   "external_url: the value is not a URL; use one that begins with http",
		"https://u:hunter2@relay.example":     "external_url: contains a user, and everybody in Slack sees this setting; remove the user",
		"https://relay.example/?token=1":      "external_url: has a query or a fragment",
		"https://relay.example/#alerts":       "external_url: has a query or a fragment",
		"https://" + strings.Repeat("a", 500): "external_url: is longer than 500 bytes; use a shorter address",
	} {
		_, err := load(t, "external_url: '"+address+"'\n")
		require.ErrorContains(t, err, fault)
		require.NotContains(t, err.Error(), "hunter2")
	}
	loaded, err := load(t, "external_url: https://relay.example/ops\nchannels: [{name: alerts}]\n")
	require.NoError(t, err)
	channels := loaded.Config.PipelineChannels(nil)
	require.Equal(t, notifier.Pages("https://relay.example/ops"), channels[0].Renderer.Pages)
}

func TestFaultsOfFilesAndTemplatesHaveARemedy(t *testing.T) {
	bad(t, `
tls_cert_file: /nope.pem
tls_key_file: /nope.key
channels: [{name: a, template_title: "{{.Nope", template_text: "{{.Titel}}"}]
`, []string{"RELAY_SLACK_TOKEN_FILE=/nope"},
		"tls_cert_file: cannot be used with tls_key_file: open /nope.pem: no such file or directory; name a certificate and its key, in PEM",
		"RELAY_SLACK_TOKEN_FILE: cannot be read: open /nope: no such file or directory; name a file that the relay may read",
		"channels[0].template_title: cannot be used: title:1: unclosed action; write a Go template of an event, for example {{.Title}}",
		"channels[0].template_text: cannot be used: text:1:2: executing")
	bad(t, "", []string{"RELAY_CONFIG=/nope.yaml"},
		"/nope.yaml: cannot be read: open /nope.yaml: no such file or directory; name the file with --config or RELAY_CONFIG")
}
