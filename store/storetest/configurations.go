package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// lengthsOf are the lengths that windows are drawn from.
var lengthsOf = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 20 * time.Second}

// DrawLevelSpec draws a configuration of one level: any of one or two windows, with any limits.
func DrawLevelSpec(rt *rapid.T, name string, s ratelimit.Strategy) ratelimit.LevelSpec {
	tier := ratelimit.LevelSpec{Name: "channel", Strategy: s}
	first := rapid.SampledFrom(lengthsOf).Draw(rt, name+" length")
	lengths := []time.Duration{first}
	if second := rapid.SampledFrom(lengthsOf).Draw(rt, name+" other length"); second != first {
		lengths = append(lengths, second)
	}
	for _, per := range lengths {
		tier.Windows = append(tier.Windows, ratelimit.Window{Limit: rapid.Int64Range(1, 12).Draw(rt, name+" limit"), Per: per})
	}
	return tier
}

// two is a level that replicas with two configurations share, as in a rolling change.
type two struct {
	tiers [2]ratelimit.LevelSpec
	group string
	o     Oracle
	by    []int // the configuration of each admission
}

// since are the admissions that a configuration can know of: from its own first one on, or from where a window with the same
// length and a single count began.
func (h *two) since(c int, w ratelimit.Window) []Admission {
	shared := rulesOf(h.tiers[c].Strategy).shared
	for i, by := range h.by {
		for _, other := range h.tiers[by].Windows {
			if by == c || shared && other.Per == w.Per {
				return h.o.Admitted[i:]
			}
		}
	}
	return nil
}

// check compares what a configuration admitted with its own limits, counted over what both admitted.
func (h *two) check(rt *rapid.T, c int, d store.Decision) {
	tier := h.tiers[c]
	for i, w := range tier.Windows {
		own := Oracle{Now: h.o.Now, Admitted: h.since(c, w)}
		in := own.Between(store.ChannelLevel(tier, h.group).Key, h.o.Now-w.Per.Microseconds()+1, h.o.Now+1)
		name := fmt.Sprintf("%d per %s", w.Limit, w.Per)
		switch {
		case tier.Strategy.Anchor == ratelimit.Aligned:
			require.GreaterOrEqual(rt, d.Remaining[i].Used, own.Between(store.ChannelLevel(tier, h.group).Key, h.o.Now, h.o.Now+1), name)
		case rulesOf(tier.Strategy).shared:
			require.Equal(rt, w.Limit-own.Left(store.ChannelLevel(tier, h.group), w, h.o.Now), d.Remaining[i].Used, name)
		default:
			require.LessOrEqual(rt, in, promised(tier.Strategy, w.Limit), name)
		}
	}
}

// twoConfigurations checks that replicas with two configurations can share a level, as in a rolling change. Whatever the
// other's windows are, a replica admits only what its own limits allow, counted over all that both admitted: no shorter
// window removes what a longer one still counts.
func twoConfigurations(s ratelimit.Strategy) func(rt *rapid.T, b Fixture, n int) {
	return func(rt *rapid.T, b Fixture, n int) {
		h := two{group: fmt.Sprint("two configurations ", n), tiers: [2]ratelimit.LevelSpec{
			DrawLevelSpec(rt, "old", s), DrawLevelSpec(rt, "new", s),
		}}
		h.run(rt, b)
	}
}

func testTwoConfigurationsEachKeepTheirLimits(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			checkMany(t, start, twoConfigurations(s.Strategy))
		})
	}
}

func (h *two) run(rt *rapid.T, b Fixture) {
	for i := range rapid.IntRange(15, 50).Draw(rt, "events") {
		b.Advance(rapid.SampledFrom([]time.Duration{
			0, time.Microsecond, 100 * time.Millisecond, 499 * time.Millisecond, time.Second, 7 * time.Second,
		}).Draw(rt, "pause"))
		h.o.Now = b.Now().UnixMicro()
		c := rapid.IntRange(0, 1).Draw(rt, "configuration")
		r := store.Request{
			Request: ratelimit.Request{
				ID:     fmt.Sprint(h.group, "/", i),
				N:      rapid.SampledFrom([]int64{1, 1, 2, 3}).Draw(rt, "units"),
				Levels: []ratelimit.Level{store.ChannelLevel(h.tiers[c], h.group)},
			},
		}
		answer, err := b.Admit(rt.Context(), Scope, []store.Request{r})
		require.NoError(rt, err)
		if answer.Decisions[0].Outcome == store.Admitted {
			h.by = append(h.by, c)
			h.o.Admitted = append(h.o.Admitted, Admission{At: h.o.Now, Units: r.N, Keys: []string{r.Levels[0].Key}})
			h.check(rt, c, answer.Decisions[0])
		}
	}
}
