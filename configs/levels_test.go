package configs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/ratelimit"
)

func TestLevels(t *testing.T) {
	cfg := good(t, `
channels:
  - name: alerts
    levels:
      - {name: sender, strategy: gate, windows: [{limit: 5, per: 5s}]}
      - {name: category, windows: [{limit: 3, per: 5s}, {limit: 10, per: 5m}]}
      - {name: team, strategy: gcra, burst: 2, shadow: true, windows: [{limit: 9, per: 1m}]}
    first_notice: {mode: auto, floor: 7}
    reserves: [{category: errors, slots: 2}]
    headroom: [{severity: info, share: 0.5}]
  - name: queue
    levels: [{name: channel, strategy: backlog, queue: list, windows: [{limit: 50}]}]
`)
	require.Equal(t, []ratelimit.LevelSpec{
		{Name: "channel", Windows: []ratelimit.Window{{Limit: 100, Per: 30 * time.Minute}}},
		{Name: "category", Windows: []ratelimit.Window{{Limit: 3, Per: 5 * time.Second}, {Limit: 10, Per: 5 * time.Minute}}},
		{Name: "sender", Strategy: ratelimit.Strategy{Kind: ratelimit.Gate}, Windows: []ratelimit.Window{{Limit: 5, Per: 5 * time.Second}}},
		{Name: "team", Shadow: true, Strategy: ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 2}, Windows: []ratelimit.Window{{Limit: 9, Per: time.Minute}}},
	}, cfg.Channels[0].Tiers())
	require.Equal(t, configs.FirstNotice{Mode: "auto", Floor: 7}, cfg.Channels[0].FirstNotice)
	require.Equal(t, []configs.Reserve{{Category: "errors", Slots: 2}}, cfg.Channels[0].Reserves)
	require.Equal(t, []configs.Headroom{{Severity: "info", Share: 0.5}}, cfg.Channels[0].Headroom)
	require.Equal(t, ratelimit.LevelSpec{
		Name: "channel", Strategy: ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.List}, Windows: []ratelimit.Window{{Limit: 50, Per: time.Second}},
	}, cfg.Channels[1].Tiers()[0])
}

func TestBadLevels(t *testing.T) {
	bad(t, `
channels:
  - name: a
    levels:
      - {name: "no good", windows: [{limit: 0, per: 5s}]}
      - {name: x, strategy: guess, windows: [{limit: 1, per: 5s}]}
      - {name: y, strategy: gate, burst: 3}
      - {name: y, strategy: backlog, windows: [{limit: 1}]}
      - {name: z, windows: [{limit: 1, per: 5s}, {limit: 2, per: 5s}, {limit: 2, per: 0s}]}
      - {name: w, strategy: fixed-window, anchor: last, windows: [{limit: 1, per: 5s}]}
    first_notice: {mode: fixed, slots: 101}
    reserves: [{category: "", slots: 1}, {category: b, slots: 100}]
    headroom: [{severity: loud, share: 0.5}, {severity: info, share: 2}]
`, nil,
		`channels[0] (a).levels[0] (no good).name is "no good"; it must be channel, category, sender, or the name of a label`,
		`channels[0] (a).levels[0] (no good).windows[0].limit is 0`,
		`channels[0] (a).levels[1] (x).strategy is "guess", which is unknown; known are backlog, fixed-window, gate`,
		`channels[0] (a).levels[2] (y).windows needs one or more of {limit, per}`,
		`channels[0] (a).levels[2] (y).burst is an option of the strategy gcra`,
		`channels[0] (a).levels[3] (y).name is that of another level`,
		`channels[0] (a).levels[3] (y).strategy backlog counts the outbox`,
		`channels[0] (a).levels[4] (z).windows[1].per is 5s, as another window's`,
		`channels[0] (a).levels[4] (z).windows[2].per is 0s`,
		`channels[0] (a).levels[5] (w).anchor is "last"; it must be first, aligned`,
		`channels[0] (a).first_notice in mode fixed needs slots of 1 to 100`,
		`channels[0] (a).reserves[0] needs a category`,
		`channels[0] (a).reserves add up to 101, above 100`,
		`channels[0] (a).headroom[0] needs a severity`, `channels[0] (a).headroom[1] needs a severity`)
	bad(t, "channels: [{name: a, first_notice: {mode: auto}, levels: [{name: channel, strategy: gate, windows: [{limit: 1, per: 1s}]}]}]", nil,
		"channels[0] (a).first_notice and reserves need the strategy sliding-log")
	bad(t, "channels: [{name: a, headroom: [{severity: info, share: 0.5}], levels: [{name: channel, strategy: gate, windows: [{limit: 1, per: 1s}]}]}]", nil,
		"channels[0] (a).headroom needs the strategy sliding-log")
	bad(t, "channels: [{name: a, levels: [{name: x, windws: [], windows: [{limit: 1, per: 1s, pr: 1s}]}]}]", nil,
		"channels[0].levels[0].windws is not a setting; did you mean windows?", "channels[0].levels[0].windows[0].pr is not a setting; did you mean per?")
	bad(t, "channels: [{name: a, limit_group: g}, {name: b, limit_group: g, global_limit: 7}]", nil,
		"channels[1] (b).limit_group is g, as that of a, but their channel levels differ")
}

func TestFairnessWarnings(t *testing.T) {
	loaded, err := load(t, `
redis_url: redis://x
channels:
  - {name: a, slack_webhook_url: "http://x/y", first_notice: {mode: fixed, slots: 20, per_category: 2}, headroom: [{severity: critical, share: 0.9}]}
`)
	require.NoError(t, err)
	require.Equal(t, []string{
		"channel a: first_notice keeps 20 slots, which guarantee the first notices of 10 categories; if more can appear, raise slots or use mode auto",
		"channel a: headroom keeps critical events from a part of the channel; leave critical out",
	}, loaded.Warnings)
}

func TestRedisTopologies(t *testing.T) {
	cfg := good(t, "", "RELAY_REDIS_ADDRS=s1:26379,s2:26379", "RELAY_REDIS_MASTER_NAME=m", "RELAY_REDIS_PASSWORD=pw", "RELAY_REDIS_TLS=true")
	opts, err := cfg.Redis()
	require.NoError(t, err)
	require.Equal(t, []string{"s1:26379", "s2:26379"}, opts.Addrs)
	require.Equal(t, []any{"m", "pw", true, -1}, []any{opts.MasterName, opts.Password, opts.TLSConfig != nil, opts.MaxRetries})
	cfg = good(t, "", "RELAY_REDIS_URL=rediss://u:p@host:1/2", "RELAY_REDIS_PASSWORD=wins")
	opts, err = cfg.Redis()
	require.NoError(t, err)
	require.Equal(t, []any{[]string{"host:1"}, 2, "u", "wins", true}, []any{opts.Addrs, opts.DB, opts.Username, opts.Password, opts.TLSConfig != nil})
	bad(t, "redis_url: redis://x\nredis_addrs: [a:1, b:1]\nreplicas: -1\nredis_wait_replicas: -1\nredis_timeout: 0s\n", nil,
		"redis_addrs and redis_url are both set", "redis_addrs names several servers", "replicas is -1", "redis_wait_replicas is -1", "redis_timeout is 0s", "channels is missing")
	bad(t, "redis_cluster: true", nil, "redis_addrs is needed", "channels is missing")
	bad(t, "redis_addrs: [nonsense]\nredis_cluster: true\nredis_master_name: m\n", nil, "redis_addrs[0] is", "redis_master_name and redis_cluster are both set", "channels is missing")
}

// A configuration of an earlier version is refused with what to do about it, whatever the value was.
func TestEngineWasRemoved(t *testing.T) {
	const remedy = "was removed: every channel decides with scripts, as with engine: script; delete it. " +
		"Levels that engine: multi counted with fixed-window by default need strategy: fixed-window now, else they use sliding-log"
	for _, value := range []string{"script", "multi"} {
		t.Run(value, func(t *testing.T) {
			bad(t, "channels: [{name: a, engine: "+value+"}]", nil, "relay.yaml: channels[0].engine "+remedy)
			bad(t, "channels: [{name: a-b}]", []string{"RELAY_CHANNEL_A_B_ENGINE=" + value}, "RELAY_CHANNEL_A_B_ENGINE "+remedy)
		})
	}
	bad(t, "channels: [{name: a, levels: [{name: x, strategy: per-second, windows: [{limit: 1, per: 1s}]}]}]", nil,
		`channels[0] (a).levels[0] (x).strategy is "per-second", which was removed with the setting engine; use sliding-log with a window of 1s`)
	_, err := configs.DefaultChannel("a").Vary("engine=multi")
	require.ErrorContains(t, err, "engine was removed")
}
