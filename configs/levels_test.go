package configs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/ratelimit"
)

func TestLevelsReplaceOrExtendTheDefaults(t *testing.T) {
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
		{
			Name: "team", Shadow: true, Strategy: ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 2},
			Windows: []ratelimit.Window{{Limit: 9, Per: time.Minute}},
		},
	}, cfg.Channels[0].Tiers())
	require.Equal(t, configs.FirstNotice{Mode: "auto", Floor: 7}, cfg.Channels[0].FirstNotice)
	require.Equal(t, []configs.Reserve{{Category: "errors", Slots: 2}}, cfg.Channels[0].Reserves)
	require.Equal(t, []configs.Headroom{{Severity: "info", Share: 0.5}}, cfg.Channels[0].Headroom)
	require.Equal(t, ratelimit.LevelSpec{
		Name: "channel", Strategy: ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.List},
		Windows: []ratelimit.Window{{Limit: 50, Per: time.Second}},
	}, cfg.Channels[1].Tiers()[0])
}

func TestInvalidLevelsAreRefused(t *testing.T) {
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
		`relay.yaml:5: channels[0].levels[0].name: "no good" is not a level; use channel, category, sender or the name of a label`,
		"relay.yaml:5: channels[0].levels[0].windows[0].limit: 0 is out of range",
		`relay.yaml:6: channels[0].levels[1].strategy: "guess" is not a valid value; use sliding-log, sliding-buckets`,
		"relay.yaml:7: channels[0].levels[2].windows: is empty; add one or more of {limit, per}",
		"relay.yaml:7: channels[0].levels[2].burst: is an option of strategy gcra",
		`relay.yaml:8: channels[0].levels[3].name: "y" is the name of another level`,
		`relay.yaml:8: channels[0].levels[3].strategy: "backlog" counts the outbox`,
		"relay.yaml:9: channels[0].levels[4].windows[1].per: 5s is the length of another window",
		"relay.yaml:9: channels[0].levels[4].windows[2].per: 0s is out of range",
		`relay.yaml:10: channels[0].levels[5].anchor: "last" is not a valid value; use first or aligned`,
		"relay.yaml:11: channels[0].first_notice.slots: 101 is out of range; use 1 to 100",
		"relay.yaml:11: channels[0].first_notice.per_category: 0 is out of range; use 1 or more",
		`relay.yaml:12: channels[0].reserves[0].category: "" is not a category`,
		"relay.yaml:12: channels[0].reserves: 101 slots in all are above the limit of the channel; use 100 or fewer",
		`relay.yaml:13: channels[0].headroom[0].severity: "loud" is not a valid value`,
		"relay.yaml:13: channels[0].headroom[1].share: 2 is out of range; use 0 to 1")
	bad(t, "channels: [{name: a, first_notice: {mode: auto}, levels: [{name: channel, strategy: gate, windows: [{limit: 1, per: 1s}]}]}]", nil,
		"channels[0].first_notice: needs strategy sliding-log at the level channel")
	bad(t, "channels: [{name: a, headroom: [{severity: info, share: 0.5}], "+
		"levels: [{name: channel, strategy: gate, windows: [{limit: 1, per: 1s}]}]}]", nil,
		"channels[0].headroom: needs strategy sliding-log")
	bad(t, "channels: [{name: a, levels: [{name: x, windws: [], windows: [{limit: 1, per: 1s, pr: 1s}]}]}]", nil,
		"channels[0].levels[0].windws: unknown setting; did you mean windows?",
		"channels[0].levels[0].windows[0].pr: unknown setting; did you mean per?")
	bad(t, "channels: [{name: a, limit_group: g}, {name: b, limit_group: g, global_limit: 7}]", nil,
		`channels[1].limit_group: "g" is also the group of channel a, which has another channel level`)
}

func TestEngineWasRemovedWithARemedy(t *testing.T) {
	const remedy = "was removed: every channel decides with scripts, as with engine: script; delete it. " +
		"Levels that engine: multi counted with fixed-window by default need strategy: fixed-window now, else they use sliding-log"
	for _, value := range []string{"script", "multi"} {
		t.Run(value, func(t *testing.T) {
			bad(t, "channels: [{name: a, engine: "+value+"}]", nil, "relay.yaml:1: channels[0].engine: "+remedy)
			bad(t, "channels: [{name: a-b}]", []string{"RELAY_CHANNEL_A_B_ENGINE=" + value}, "RELAY_CHANNEL_A_B_ENGINE: "+remedy)
		})
	}
	bad(t, "channels: [{name: a, levels: [{name: x, strategy: per-second, windows: [{limit: 1, per: 1s}]}]}]", nil,
		`channels[0].levels[0].strategy: "per-second" is not a valid value`)
	_, err := configs.DefaultChannel("a").Vary("engine=multi")
	require.ErrorContains(t, err, "engine: was removed")
}
