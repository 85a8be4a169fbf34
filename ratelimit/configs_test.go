package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

// lengthsOf are what windows are drawn from.
var lengthsOf = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 20 * time.Second}

// drawTier draws a configuration of one level: any of one or two windows, with any limits.
func drawTier(rt *rapid.T, name string, s ratelimit.Strategy) ratelimit.Tier {
	tier := ratelimit.Tier{Name: "channel", Strategy: s}
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

// worstOf is the most that one window of a strategy holds.
func worstOf(tier ratelimit.Tier, w ratelimit.Window) int64 {
	switch tier.Strategy.Kind {
	case ratelimit.FixedWindow:
		return 2*w.Limit - 1
	case ratelimit.SlidingCounter:
		return 2 * w.Limit
	case ratelimit.GCRA:
		return w.Limit + tier.Strategy.Burst - 1
	default:
		return w.Limit
	}
}

// passed is what was admitted, by whom.
type passed struct {
	at    time.Time
	units int64
	by    int // the configuration
}

// within counts the units of the window of a length that ends at the last admission.
func unitsWithin(all []passed, per time.Duration) (n int64) {
	end := all[len(all)-1].at
	for _, p := range all {
		if p.at.After(end.Add(-per)) {
			n += p.units
		}
	}
	return n
}

// During a rolling change, replicas with two configurations share a level. What either admits keeps the limits of its own
// configuration, counted over everything that both admitted; so no window ever holds more than the longer one allows
// where it admitted last, whatever the other's windows are.
func TestTwoConfigurationsAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, s := range strategies[:7] {
		onEvery(t, func(t *testing.T, b bundle) {
			histories := 0
			rapid.Check(t, func(rt *rapid.T) {
				histories++
				twoConfigurations(rt, b, s.strategy, fmt.Sprint(s.name, " ", histories))
			})
		})
	}
}

func twoConfigurations(rt *rapid.T, b bundle, s ratelimit.Strategy, group string) {
	tiers := [2]ratelimit.Tier{drawTier(rt, "old", s), drawTier(rt, "new", s)}
	var all []passed
	for i := range rapid.IntRange(20, 80).Draw(rt, "events") {
		b.advance(rapid.SampledFrom([]time.Duration{
			0, time.Microsecond, 100 * time.Millisecond, 499 * time.Millisecond, time.Second, 7 * time.Second,
		}).Draw(rt, "pause"))
		by := rapid.IntRange(0, 1).Draw(rt, "by")
		r := ratelimit.Request{
			ID: fmt.Sprint(group, i), N: rapid.SampledFrom([]int64{1, 1, 2, 3}).Draw(rt, "units"),
			Levels: []ratelimit.Level{tiers[by].Outer(group)},
		}
		d, err := b.Admit(rt.Context(), scope, []ratelimit.Request{r})
		require.NoError(rt, err)
		if d[0].Outcome != ratelimit.Admitted {
			continue
		}
		all = append(all, passed{b.now(), r.N, by})
		for _, w := range tiers[by].Windows {
			require.LessOrEqual(rt, unitsWithin(all, w.Per), worstOf(tiers[by], w), "%d per %s", w.Limit, w.Per)
		}
	}
}

// The step that is reported is the clock's, whatever the limits and windows become meanwhile: a reload is none.
func TestOnlyTheClockSteps(t *testing.T) {
	t.Parallel()
	for _, s := range strategies[:7] {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			clocked := redistest.NewClocked(t, redistest.Start(t).Client(), start)
			var steps []time.Duration
			b := bundle{clock: clocked.Now, Limiter: ratelimit.NewRedis(clocked, ratelimit.RedisOptions{
				Now: clocked.Now, Stepped: func(_ string, by time.Duration) { steps = append(steps, by) },
			})}
			histories := 0
			rapid.Check(t, func(rt *rapid.T) {
				histories++
				steps = nil
				onlyTheClock(rt, b, clocked, s.strategy, fmt.Sprint("group ", histories), &steps)
			})
		})
	}
}

func onlyTheClock(rt *rapid.T, b bundle, clocked *redistest.Clocked, s ratelimit.Strategy, group string, steps *[]time.Duration) {
	var last time.Time // of the last admission, as it is kept
	log := s.Kind == ""
	for i := range rapid.IntRange(10, 40).Draw(rt, "events") {
		clocked.Advance(rapid.SampledFrom([]time.Duration{
			0, time.Millisecond, time.Second, 10 * time.Second, -3 * time.Second, -6 * time.Second, -time.Hour,
		}).Draw(rt, "pause"))
		tier := drawTier(rt, "", s)
		*steps = nil
		r := ratelimit.Request{ID: fmt.Sprint(group, i), Levels: []ratelimit.Level{tier.Outer(group)}}
		d, err := b.Admit(rt.Context(), scope, []ratelimit.Request{r})
		require.NoError(rt, err)
		ahead := last.Sub(b.now())
		switch {
		case ahead <= 5*time.Second:
			require.Empty(rt, *steps, "a reload is no step")
		case log && len(*steps) == 0: // a log moves entries when they make it refuse
			require.Equal(rt, ratelimit.Admitted, d[0].Outcome)
		default:
			require.Equal(rt, []time.Duration{ahead}, *steps)
			last = b.now()
		}
		if d[0].Outcome == ratelimit.Admitted && b.now().After(last) {
			last = b.now()
		}
	}
}
