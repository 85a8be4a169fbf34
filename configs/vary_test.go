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
