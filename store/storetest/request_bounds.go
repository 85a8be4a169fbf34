package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var requestBoundsBehaviours = []behaviour{
	{"BoundsOfARequestAreExact", testBoundsOfARequestAreExact},
	{"BudgetOfNoCallsIsRejected", testBudgetOfNoCallsIsRejected},
}

// requestChange makes another request of one that is valid.
type requestChange func(r *store.Request)

// and makes several changes, one after the other.
func (c requestChange) and(next requestChange) requestChange {
	return func(r *store.Request) { c(r); next(r) }
}

func reserves(n int, slots int64) requestChange {
	return func(r *store.Request) {
		r.Fairness = &ratelimit.Fairness{}
		for range n {
			r.Fairness.Reserves = append(r.Fairness.Reserves, ratelimit.Reserve{Category: "other", Slots: slots, Level: r.Levels[1]})
		}
	}
}

func notice(f ratelimit.FirstNotice) requestChange {
	return func(r *store.Request) { r.Fairness = &ratelimit.Fairness{FirstNotice: f} }
}

func headroom(units int64) requestChange { return func(r *store.Request) { r.Headroom = units } }

func windows(all ...ratelimit.Window) requestChange {
	return func(r *store.Request) { r.Levels[0].Windows = all }
}

func strategy(s ratelimit.Strategy) requestChange { return strategyOf(0, s) }

func strategyOf(level int, s ratelimit.Strategy) requestChange {
	return func(r *store.Request) { r.Levels[level].Strategy = s }
}

func levelName(level int, name string) requestChange {
	return func(r *store.Request) { r.Levels[level].Name = name }
}

func levelCount(n int) requestChange {
	return func(r *store.Request) {
		for len(r.Levels) < n {
			r.Levels = append(r.Levels, r.Levels[0])
		}
	}
}

func reserveAtAGate(r *store.Request) { r.Fairness.Reserves[0].Level.Strategy = gateStrategy }

var gateStrategy = ratelimit.Strategy{Kind: ratelimit.Gate}

// requestBounds are requests at each bound: with the last value that makes sense, or the first that does not.
var requestBounds = []struct {
	name  string
	make  requestChange
	valid bool
}{
	{"32 reserves", reserves(ratelimit.MaxReserves, 1), true},
	{"33 reserves", reserves(ratelimit.MaxReserves+1, 1), false},
	{"a reserve of 0", reserves(1, 0), true},
	{"a reserve of -1", reserves(1, -1), false},
	{"slots of 0, no category", notice(ratelimit.FirstNotice{Auto: true}), true},
	{"1 slot, 1 per category", notice(ratelimit.FirstNotice{Slots: 1, PerCategory: 1}), true},
	{"1 slot, 0 per category", notice(ratelimit.FirstNotice{Slots: 1}), false},
	{"slots of -1", notice(ratelimit.FirstNotice{Auto: true, Slots: -1, PerCategory: 1}), false},
	{"a floor of -1", notice(ratelimit.FirstNotice{Auto: true, Floor: -1}), false},
	{"a limit of 0", windows(PerMinute(0)), true},
	{"a limit of -1", windows(PerMinute(-1)), false},
	{"a window of 1 µs", windows(ratelimit.Window{Limit: 1, Per: time.Microsecond}), true},
	{"a window of 999 ns", windows(ratelimit.Window{Limit: 1, Per: 999}), false},
	{"no windows", windows(), false},
	{"two windows", windows(PerMinute(1), ratelimit.Window{Limit: 1, Per: time.Hour}), true},
	{"two windows of one length", windows(PerMinute(1), PerMinute(2)), false},
	{"an unknown strategy", strategy(ratelimit.Strategy{Kind: "x"}), false},
	{"a burst of 0", strategy(ratelimit.Strategy{Kind: ratelimit.GCRA}), true},
	{"a burst of -1", strategy(ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: -1}), false},
	{"a bucket of -1 ns", strategy(ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: -1}), false},
	{"a bucket of 1 ns", strategy(ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 1}), true},
	{"an aligned window", strategy(ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}), true},
	{"a first window", strategy(ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.First}), true},
	{"an unknown anchor", strategy(ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: "x"}), false},
	{"a list", strategy(ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.List}), true},
	{"a stream", strategy(ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.Stream}), true},
	{"a backlog with windows", windows(PerMinute(1), ratelimit.Window{Limit: 1, Per: time.Hour}).and(
		strategy(ratelimit.Strategy{Kind: ratelimit.Backlog})), false},
	{"an unknown queue", strategy(ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: "x"}), false},
	{"headroom of 0, at a gate", strategy(gateStrategy), true},
	{"headroom of -1", headroom(-1), false},
	{"headroom of 1", headroom(1), true},
	{"headroom of 1, at a gate", strategy(gateStrategy).and(headroom(1)), false},
	{"fairness at a gate", strategy(gateStrategy).and(reserves(1, 1)), false},
	{"fairness, no channel", reserves(1, 1).and(levelName(0, "x")), false},
	{"fairness, no category", reserves(1, 1).and(levelName(1, "x")), false},
	{"fairness, a gate below", reserves(1, 1).and(strategyOf(1, gateStrategy)), false},
	{"a reserve at a gate", reserves(1, 1).and(reserveAtAGate), false},
	{"nothing is reserved at a gate", strategy(gateStrategy).and(reserves(0, 0)), true},
	{"32 levels", levelCount(32), true},
	{"33 levels", levelCount(33), false},
}

func testBoundsOfARequestAreExact(t *testing.T, start Start) {
	for _, row := range requestBounds {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			r := Small.Request("1", "a")
			row.make(&r)
			_, err := b.Admit(t.Context(), Scope, []store.Request{r})
			if row.valid {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ratelimit.ErrRequest)
			require.Zero(t, b.MustReport(t).Ledger.Received)
		})
	}
}

func testBudgetOfNoCallsIsRejected(t *testing.T, start Start) {
	b := start(t)
	_, err := b.A.ReserveCalls(t.Context(), "ws", posts(0, 1))
	require.ErrorContains(t, err, "0 calls a minute, want 1 or more")
	_, err = b.A.ReserveCalls(t.Context(), "ws", posts(1, -1))
	require.ErrorContains(t, err, "-1 calls to reserve, want 0 or more")
	reserved, err := b.A.ReserveCalls(t.Context(), "ws", posts(1, 1))
	require.NoError(t, err)
	require.Zero(t, reserved.Wait)
	reserved, err = b.A.ReserveCalls(t.Context(), "ws", posts(1, 1))
	require.NoError(t, err)
	require.Equal(t, time.Minute, reserved.Wait)
}
