package configs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/ratelimit"
)

func TestVariationsOfAChannel(t *testing.T) {
	t.Parallel()
	base := configs.DefaultChannel("a")
	base.Levels = []configs.Level{
		{Name: "category", Strategy: "gcra", Burst: 3, Windows: []configs.Window{{Limit: 7, Per: time.Hour}}},
		{Name: "host", Windows: []configs.Window{{Limit: 1, Per: time.Minute}}},
	}
	base.Reserves = []configs.Reserve{{Category: "x", Slots: 1}, {Category: "y", Slots: 1}}

	changed, err := base.Vary("strategy=fixed-window,global_limit=20,reserves=[]")
	require.NoError(t, err)
	tiers := changed.Tiers()
	require.Equal(t, ratelimit.Strategy{Kind: ratelimit.FixedWindow}, tiers[0].Strategy)
	require.Equal(t, ratelimit.Strategy{Kind: ratelimit.FixedWindow}, tiers[1].Strategy, "the options of gcra go with it")
	require.Equal(t, []ratelimit.Window{{Limit: 7, Per: time.Hour}}, tiers[1].Windows)
	require.Equal(t, int64(20), tiers[0].Windows[0].Limit)
	require.Len(t, tiers, 3)
	require.Equal(t, "gcra", base.Levels[0].Strategy, "the channel itself is not changed")

	plain := configs.DefaultChannel("a")
	changed, err = plain.Vary("strategy=backlog")
	require.NoError(t, err)
	require.Equal(t, ratelimit.Backlog, changed.Tiers()[0].Strategy.Kind)
	require.Empty(t, changed.Tiers()[1].Strategy.Kind, "a backlog is for the channel level")

	plain.Reserves = base.Reserves
	changed, err = plain.Vary(`first_notice.mode=auto,first_notice.floor=2,reserves=[{category: "a,b", slots: 5}],bundle=webhook`)
	require.ErrorContains(t, err, `reserves[0].category: "a,b"`)
	require.Equal(t, configs.FirstNotice{Mode: "auto", Floor: 2}, changed.FirstNotice)
	require.Len(t, changed.Reserves, 1)
	require.Equal(t, "x", plain.Reserves[0].Category)

	for settings, fault := range map[string]string{
		"template_title=x": "template_title: does not change what a simulation posts; remove it",
		"on_redis_down=x":  "on_redis_down: does not change what a simulation posts",
		"rules=[]":         "rules: does not change what a simulation posts",
		"category_limit=5": "category_limit: has no effect, because levels replaces the level category; set levels instead",
		"first_notice.x=5": "first_notice.x: unknown setting",
		"resolves=never":   `resolves: "never" is not a valid value`,
	} {
		_, err := base.Vary(settings)
		require.ErrorContains(t, err, fault)
	}
}

func TestVariationsOfInhibitionsAndHeartbeats(t *testing.T) {
	t.Parallel()
	base := configs.DefaultChannel("a")
	cfg := configs.Config{
		Channels: []configs.Channel{base}, Inhibitions: []configs.Inhibition{{Name: "node"}},
		Heartbeats: []configs.Heartbeat{{Name: "watchdog", Channel: "a", Every: time.Minute}},
	}
	varied, ch, err := cfg.Vary(base, "inhibitions=[],hold=2m")
	require.NoError(t, err)
	require.Empty(t, varied.Inhibitions)
	require.Len(t, varied.Heartbeats, 1)
	require.Equal(t, 2*time.Minute, ch.Hold)
	require.Len(t, cfg.Inhibitions, 1)
	varied, _, err = cfg.Vary(base,
		`inhibitions=[{name: n, source: [{field: category, is: a}], target: [{field: category, is: b}]}],heartbeats=[]`)
	require.NoError(t, err)
	require.Equal(t, "n", varied.Inhibitions[0].Name)
	require.Empty(t, varied.Heartbeats)
	for settings, fault := range map[string]string{
		"inhibitions=[{name: n}]":                          "inhibitions[0].source: is empty",
		"heartbeats=[{name: x, channel: nope, every: 1m}]": `heartbeats[0].channel: "nope" is not a channel`,
		"inhibitions=[{names: n}]":                         "inhibitions[0].names: unknown setting",
		"inhibitions=5":                                    "inhibitions: ",
		"inhibitions=[":                                    "is not a YAML value",
		"inhibitions=[],rules=[]":                          "rules: does not change what a simulation posts",
	} {
		_, _, err := cfg.Vary(base, settings)
		require.ErrorContains(t, err, fault)
	}
}
