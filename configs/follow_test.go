package configs_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
)

// A file that was emptied or cut off never makes a relay of one default channel.
func TestAFileWithoutChannels(t *testing.T) {
	for text, says := range map[string]string{
		" ":                 "is empty; list the channels in it",
		"\n\n":              "is empty",
		"# channels: [a]\n": "is empty",
		"---\n":             "is empty",
		"{}":                "is empty",
		"channels:\n":       "is empty",
		"lease: 20s":        "channels is missing; list the channels there, or in RELAY_CHANNELS",
		"lease: 20s\nchan":  "cannot be read",
		"channels: []":      "channels is empty",
	} {
		bad(t, text, nil, says)
	}
	require.Equal(t, "a", good(t, "lease: 20s", "RELAY_CHANNELS=a").Channels[0].Name)
	bad(t, "# nothing", []string{"RELAY_CHANNELS=a"}, "is empty")
	require.Equal(t, "default", good(t, "").Channels[0].Name, "no file is named")
}

func TestFollow(t *testing.T) {
	const hook = "slack_webhook_url: https://hooks.slack.com/services/T/B/x"
	for name, c := range map[string]struct{ before, after, fault, warning string }{
		"the same":                    {"[{name: a, ingress_token: x}]", "[{name: a, ingress_token: x}]", "", ""},
		"another token":               {"[{name: a, ingress_token: x}]", "[{name: a, auth: [{name: s, kind: bearer, secret: y}]}]", "", ""},
		"no token any more":           {"[{name: b}, {name: a, ingress_token: x}]", "[{name: a}]", "channels[0] (a) would accept webhooks from anyone: ingress_token or auth was removed; set it again", ""},
		"no credentials any more":     {"[{name: a, auth: [{name: s, kind: bearer, secret: y}]}]", "[{name: a}]", "would accept webhooks from anyone", ""},
		"no token, and that is meant": {"[{name: a, ingress_token: x}]", "[{name: a}]\nallow_unauthenticated: true", "", "now accepts webhooks from anyone"},
		"no token before":             {"[{name: a}]", "[{name: a}]", "", ""},
		"no webhook any more":         {"[{name: a, " + hook + "}]", "[{name: a}]", "would no longer post to Slack", ""},
		"no bot token any more":       {"[{name: a, slack_channel: C}]\nslack_token: t", "[{name: a, slack_channel: C}]", "would no longer post to Slack", ""},
		"a channel for a webhook":     {"[{name: a, " + hook + "}]", "[{name: a, slack_channel: C}]\nslack_token: t", "", ""},
		"no admin token any more":     {"[{name: a}]\nadmin_token: t", "[{name: a}]", "", "admin_token was removed"},
		"another channel":             {"[{name: a, ingress_token: x, " + hook + "}]", "[{name: b}]", "", ""},
		"two faults, and no secret":   {"[{name: a, ingress_token: very-secret, " + hook + "}]", "[{name: a}]", "would accept webhooks from anyone", ""},
	} {
		before, after := good(t, "channels: "+c.before+"\n"), good(t, "channels: "+c.after+"\n")
		faults, warnings := after.Follow(before)
		if c.fault == "" {
			require.Empty(t, faults, name)
		} else {
			require.ErrorContains(t, errors.Join(faults...), c.fault, name)
		}
		if c.warning == "" {
			require.Empty(t, warnings, name)
		} else {
			require.Len(t, warnings, 1, name)
			require.Contains(t, warnings[0], c.warning, name)
		}
		require.NotContains(t, errors.Join(append(faults, errors.New(""))...).Error(), "very-secret")
	}
}

// What is said of a Redis holds neither user nor password, however they are written.
func TestTheAddressOfRedis(t *testing.T) {
	for text, want := range map[string]string{
		"redis://127.0.0.1:6379/3":                  "redis://127.0.0.1:6379/3",
		"rediss://user:secret@host":                 "rediss://host:6379/0",
		"redis://:secret@[::1]:1/2?dial_timeout=3s": "redis://[::1]:1/2",
		"redis://us%40er:se%2Fcret@host:1":          "redis://host:1/0",
		"redis://:sec@ret@host:1":                   "redis://host:1/0",
		"redis://secret:12#34@host":                 "********",
		"redis://secret?x@host":                     "********",
		"redis://:secret/1@host":                    "********",
		"nonsense secret":                           "********",
		"unix://user:secret@/run/redis.sock?db=1":   "unix:///run/redis.sock, database 1",
	} {
		cfg := configs.Config{RedisURL: configs.Secret(text)}
		require.Equal(t, want, cfg.RedisAddress(), text)
		require.NotContains(t, cfg.RedisFault("", errors.New("x")).Error(), "secret")
	}
	cfg := configs.Config{RedisAddrs: []string{"a:1", "b:2"}, RedisCluster: true, RedisUsername: "u", RedisPassword: "p"}
	require.Equal(t, "a:1, b:2 (Cluster)", cfg.RedisAddress())
	require.ErrorContains(t, cfg.RedisFault("no", errors.New("why")), "redis_addrs a:1, b:2 (Cluster): no (why)")
	cfg = configs.Config{RedisAddrs: []string{"a:1"}, RedisMasterName: "m"}
	require.Equal(t, "a:1 (Sentinels of m)", cfg.RedisAddress())
	require.Empty(t, (&configs.Config{}).RedisAddress())
}
