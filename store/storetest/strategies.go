package storetest

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var strategiesBehaviours = []behaviour{
	{"DecisionsMatchTheGoldenTable", testDecisionsMatchTheGoldenTable},
	{"ClockThatGoesBackNeverExceedsALimit", testClockThatGoesBackNeverExceedsALimit},
	{"ClockStepsAndRefundsAdmitNoMore", testClockStepsAndRefundsAdmitNoMore},
}

//go:embed testdata/strategies.golden
var goldenTable string

func testDecisionsMatchTheGoldenTable(t *testing.T, start Start) {
	require.Equal(t, goldenTable, GoldenTable(t, start(t)))
}

// GoldenTable is what becomes of the same events with every strategy: when, how many units, and the decision.
func GoldenTable(t *testing.T, b Fixture) string {
	t.Helper()
	var table strings.Builder
	begin := b.Now()
	for _, s := range Strategies() {
		b.Advance(begin.Add(time.Hour).Truncate(time.Hour).Sub(b.Now())) // the same grid for each
		begin = b.Now()
		play(t, b, &table, s.Name, ratelimit.LevelSpec{
			Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{{Limit: 4, Per: 10 * time.Second}},
		})
	}
	return table.String()
}

func play(t *testing.T, b Fixture, table *strings.Builder, name string, tier ratelimit.LevelSpec) {
	t.Helper()
	fmt.Fprintf(table, "%s, 4 per 10 s\n      at  units  outcome    used  left  retry after\n", name)
	var at time.Duration
	for i, event := range []struct {
		after time.Duration
		units int64
	}{
		{8 * time.Second, 1},
		{300 * time.Millisecond, 2},
		{700 * time.Millisecond, 1},
		{0, 1},
		{500 * time.Millisecond, 5},
		{time.Second, 1},
		{2500 * time.Millisecond, 2},
		{4 * time.Second, 1},
		{1500 * time.Millisecond, 3},
		{20 * time.Second, 2},
	} {
		b.Advance(event.after)
		at += event.after
		d := b.AdmitOne(t, store.Request{
			Request: ratelimit.Request{
				ID:     fmt.Sprint(name, i),
				N:      event.units,
				Levels: []ratelimit.Level{store.ChannelLevel(tier, "golden "+name)},
			},
		})
		r := d.Remaining[0]
		fmt.Fprintf(table, "%8s  %5d  %-9s  %4d  %4d  %s\n", at, event.units, d.Outcome, r.Used, r.Free, d.RetryAfter)
	}
	table.WriteString("\n")
}

// A clock that goes back never lets a window contain more than its limit. What lies far ahead is moved, so that it throttles
// for one window more at most.
func testClockThatGoesBackNeverExceedsALimit(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{PerMinute(4)}}
			n := 0
			ask := func() store.Decision {
				n++
				r := ratelimit.Request{ID: fmt.Sprint(n), Levels: []ratelimit.Level{store.ChannelLevel(tier, "back")}}
				return b.AdmitOne(t, store.Request{Request: r})
			}
			for ask().Outcome == store.Admitted {
				continue
			}
			b.Advance(-time.Hour)
			d := ask()
			require.Equal(t, store.Dropped, d.Outcome)
			require.LessOrEqual(t, d.RetryAfter, time.Minute+time.Second)
			b.Advance(d.RetryAfter)
			require.Equal(t, store.Admitted, ask().Outcome)
		})
	}
}

// However often the clock goes back: in true time, no window holds more than its strategy promises, refunds included.
func testClockStepsAndRefundsAdmitNoMore(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			histories := 0
			rapid.Check(t, func(rt *rapid.T) {
				histories++
				for _, steps := range []bool{true, false} {
					group := fmt.Sprint(s.Name, "/", histories, "/", steps)
					tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{{
						Limit: rapid.Int64Range(2, 5).Draw(rt, "limit"), Per: 10 * time.Second,
					}}}
					stepsOrRefunds(rt, b, tier, group, steps)
				}
			})
		})
	}
}

func stepsOrRefunds(rt *rapid.T, b Fixture, tier ratelimit.LevelSpec, group string, steps bool) {
	var elapsed time.Duration // in truth
	var o Oracle
	level := store.ChannelLevel(tier, group)
	refundable := rulesOf(tier.Strategy).refunds
	for i := range rapid.IntRange(15, 40).Draw(rt, "events") {
		pause := rapid.SampledFrom([]time.Duration{
			0, time.Millisecond, 100 * time.Millisecond, time.Second, 4999 * time.Millisecond, 9999 * time.Millisecond,
		}).Draw(rt, "pause")
		b.Advance(pause)
		elapsed += pause
		if steps {
			b.Advance(rapid.SampledFrom([]time.Duration{0, 0, 0, 0, -4 * time.Second, -6 * time.Second, -time.Hour}).Draw(rt, "step"))
		} else if refundable && len(o.Admitted) > 0 && rapid.IntRange(0, 3).Draw(rt, "refund") == 0 {
			id := rapid.SampledFrom(o.Admitted).Draw(rt, "which").ID
			require.NoError(rt, b.Refund(rt.Context(), Scope, store.Request{Request: ratelimit.Request{ID: id, Levels: []ratelimit.Level{level}}}))
			o.Refund(id)
		}
		r := store.Request{Request: ratelimit.Request{ID: fmt.Sprint(group, "/", i), Levels: []ratelimit.Level{level}}}
		answer, err := b.Admit(rt.Context(), Scope, []store.Request{r})
		require.NoError(rt, err)
		if answer.Decisions[0].Outcome == store.Admitted {
			o.Admitted = append(o.Admitted, Admission{At: elapsed.Microseconds(), ID: r.ID, Units: 1, Keys: []string{level.Key}})
		}
		in := o.Between(level.Key, (elapsed-10*time.Second).Microseconds()+1, elapsed.Microseconds()+1)
		require.LessOrEqual(rt, in, Promised(tier))
	}
}
