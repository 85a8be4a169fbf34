package storetest

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Strategies are all strategies with a limit of 4 per 10 s.
var Strategies = []struct {
	Name     string
	Strategy ratelimit.Strategy
}{
	{"sliding-log", ratelimit.Strategy{}},
	{"sliding-buckets of 1 s", ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: time.Second}},
	{"fixed-window, first", ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.First}},
	{"fixed-window, aligned", ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}},
	{"sliding-counter", ratelimit.Strategy{Kind: ratelimit.SlidingCounter}},
	{"gcra, burst 2", ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 2}},
	{"gate", ratelimit.Strategy{Kind: ratelimit.Gate}},
	{"backlog, stream", ratelimit.Strategy{Kind: ratelimit.Backlog}},
	{"backlog, list", ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.List}},
}

var strategiesBehaviours = []behaviour{
	{"DecisionsMatchTheGoldenTable", testDecisionsMatchTheGoldenTable},
	{"ClockThatGoesBackNeverExceedsALimit", testClockThatGoesBackNeverExceedsALimit},
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
	for _, s := range Strategies {
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
			ID: fmt.Sprint(name, i), N: event.units, Levels: []ratelimit.Level{store.ChannelLevel(tier, "golden "+name)},
		})
		r := d.Remaining[0]
		fmt.Fprintf(table, "%8s  %5d  %-9s  %4d  %4d  %s\n", at, event.units, d.Outcome, r.Used, r.Free, d.RetryAfter)
	}
	table.WriteString("\n")
}

// A clock that goes back never lets a window contain more than its limit. What lies far ahead is moved, so that it throttles
// for one window more at most.
func testClockThatGoesBackNeverExceedsALimit(t *testing.T, start Start) {
	for _, s := range Strategies[:7] {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{PerMinute(4)}}
			n := 0
			ask := func() store.Decision {
				n++
				return b.AdmitOne(t, store.Request{ID: fmt.Sprint(n), Levels: []ratelimit.Level{store.ChannelLevel(tier, "back")}})
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
