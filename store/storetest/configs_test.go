package storetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// lengthsOf are what windows are drawn from.
var lengthsOf = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 20 * time.Second}

// drawTier draws a configuration of one level: any of one or two windows, with any limits.
func drawTier(rt *rapid.T, name string, s ratelimit.Strategy) ratelimit.LevelSpec {
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
	o     storetest.Oracle
	by    []int // whose each admission is
}

// since is where the admissions begin that a configuration can know of: with its own first, or where a window of the
// same length and one count began.
func (h *two) since(c int, w ratelimit.Window) []storetest.Admission {
	kind := h.tiers[c].Strategy.Kind
	counted := kind == ratelimit.FixedWindow || kind == ratelimit.SlidingCounter
	for i, by := range h.by {
		for _, other := range h.tiers[by].Windows {
			if by == c || counted && other.Per == w.Per {
				return h.o.Admitted[i:]
			}
		}
	}
	return nil
}

// check holds what a configuration admitted against its own limits, counted over what both admitted.
func (h *two) check(rt *rapid.T, c int, d store.Decision) {
	tier := h.tiers[c]
	for i, w := range tier.Windows {
		own := storetest.Oracle{Now: h.o.Now, Admitted: h.since(c, w)}
		in := own.Between(store.ChannelLevel(tier, h.group).Key, h.o.Now-w.Per.Microseconds()+1, h.o.Now+1)
		name := fmt.Sprintf("%d per %s", w.Limit, w.Per)
		switch tier.Strategy.Kind {
		case ratelimit.FixedWindow, ratelimit.SlidingCounter:
			if tier.Strategy.Anchor == ratelimit.Aligned {
				require.GreaterOrEqual(rt, d.Remaining[i].Used, own.Between(store.ChannelLevel(tier, h.group).Key, h.o.Now, h.o.Now+1), name)
				continue
			}
			require.Equal(rt, w.Limit-own.Left(store.ChannelLevel(tier, h.group), w, h.o.Now), d.Remaining[i].Used, name)
		case ratelimit.GCRA:
			require.LessOrEqual(rt, in, w.Limit+tier.Strategy.Burst-1, name)
		default:
			require.LessOrEqual(rt, in, w.Limit, name)
		}
	}
}

// During a rolling change, replicas with two configurations share a level. Whatever the other's windows are, a replica
// admits only what its own limits allow, counted over all that both admitted: no shorter window takes away what a longer
// one still counts.
func TestTwoConfigurationsAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, s := range storetest.Strategies[:7] {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
				histories := 0
				rapid.Check(t, func(rt *rapid.T) {
					histories++
					h := two{group: fmt.Sprint(s.Name, " ", histories), tiers: [2]ratelimit.LevelSpec{
						drawTier(rt, "old", s.Strategy), drawTier(rt, "new", s.Strategy),
					}}
					h.run(rt, b)
				})
			})
		})
	}
}

func (h *two) run(rt *rapid.T, b storetest.Fixture) {
	for i := range rapid.IntRange(15, 50).Draw(rt, "events") {
		b.Advance(rapid.SampledFrom([]time.Duration{
			0, time.Microsecond, 100 * time.Millisecond, 499 * time.Millisecond, time.Second, 7 * time.Second,
		}).Draw(rt, "pause"))
		h.o.Now = b.Now().UnixMicro()
		c := rapid.IntRange(0, 1).Draw(rt, "configuration")
		r := store.Request{
			ID: fmt.Sprint(h.group, "/", i), N: rapid.SampledFrom([]int64{1, 1, 2, 3}).Draw(rt, "units"),
			Levels: []ratelimit.Level{store.ChannelLevel(h.tiers[c], h.group)},
		}
		d, err := b.Admit(rt.Context(), storetest.Scope, []store.Request{r})
		require.NoError(rt, err)
		if d[0].Outcome == store.Admitted {
			h.by = append(h.by, c)
			h.o.Admitted = append(h.o.Admitted, storetest.Admission{At: h.o.Now, Units: r.N, Keys: []string{r.Levels[0].Key}})
			h.check(rt, c, d[0])
		}
	}
}

// The step that is reported is the clock's, whatever the limits and windows become meanwhile: a reload is none.
func TestOnlyTheClockSteps(t *testing.T) {
	t.Parallel()
	for _, s := range storetest.Strategies[:7] {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			clocked := redistest.NewClocked(t, redistest.Start(t).Client(), storetest.StartTime)
			var steps []time.Duration
			b := storetest.Fixture{Clock: clocked.Now, Limiter: redisstore.New(clocked, redisstore.Options{
				Now: clocked.Now, ClockStepped: func(_ string, by time.Duration) { steps = append(steps, by) },
			})}
			histories := 0
			rapid.Check(t, func(rt *rapid.T) {
				histories++
				onlyTheClock(rt, b, clocked, s.Strategy, fmt.Sprint("group ", histories), &steps)
			})
		})
	}
}

func onlyTheClock(rt *rapid.T, b storetest.Fixture, clocked *redistest.Clocked, s ratelimit.Strategy, group string, steps *[]time.Duration) {
	var last time.Time // of the last admission, as it is kept
	log := s.Kind == ""
	for i := range rapid.IntRange(10, 40).Draw(rt, "events") {
		clocked.Advance(rapid.SampledFrom([]time.Duration{
			0, time.Millisecond, time.Second, 10 * time.Second, -3 * time.Second, -6 * time.Second, -time.Hour,
		}).Draw(rt, "pause"))
		tier := drawTier(rt, "", s)
		*steps = nil
		r := store.Request{ID: fmt.Sprint(group, "/", i), Levels: []ratelimit.Level{store.ChannelLevel(tier, group)}}
		d, err := b.Admit(rt.Context(), storetest.Scope, []store.Request{r})
		require.NoError(rt, err)
		ahead := last.Sub(b.Now())
		switch {
		case ahead <= 5*time.Second:
			require.Empty(rt, *steps, "a reload is no step")
		case log && len(*steps) == 0: // a log moves entries when they make it refuse
			require.LessOrEqual(rt, d[0].RetryAfter, 25*time.Second, "the longest window, and what is waited for")
		default:
			require.Equal(rt, []time.Duration{ahead}, *steps)
			last = b.Now()
		}
		if d[0].Outcome == store.Admitted && b.Now().After(last) {
			last = b.Now()
		}
	}
}
