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

// Each row changes a request that is valid: to the last value that makes sense, or to the first that does not.
func testBoundsOfARequestAreExact(t *testing.T, start Start) {
	reserves := func(n int, slots int64) func(r *store.Request) {
		return func(r *store.Request) {
			r.Fairness = &ratelimit.Fairness{}
			for range n {
				r.Fairness.Reserves = append(r.Fairness.Reserves, ratelimit.Reserve{Category: "other", Slots: slots, Level: r.Levels[1]})
			}
		}
	}
	notice := func(f ratelimit.FirstNotice) func(r *store.Request) {
		return func(r *store.Request) { r.Fairness = &ratelimit.Fairness{FirstNotice: f} }
	}
	channel := func(change func(l *ratelimit.Level)) func(r *store.Request) {
		return func(r *store.Request) { change(&r.Levels[0]) }
	}
	window := func(w ratelimit.Window) func(r *store.Request) {
		return channel(func(l *ratelimit.Level) { l.Windows = []ratelimit.Window{w} })
	}
	strategy := func(s ratelimit.Strategy) func(r *store.Request) {
		return channel(func(l *ratelimit.Level) { l.Strategy = s })
	}
	gate := ratelimit.Strategy{Kind: ratelimit.Gate}
	for name, row := range map[string]struct {
		change func(r *store.Request)
		valid  bool
	}{
		"32 reserves":              {reserves(ratelimit.MaxReserves, 1), true},
		"33 reserves":              {reserves(ratelimit.MaxReserves+1, 1), false},
		"a reserve of 0":           {reserves(1, 0), true},
		"a reserve of -1":          {reserves(1, -1), false},
		"slots of 0, no category":  {notice(ratelimit.FirstNotice{Auto: true}), true},
		"1 slot, 1 per category":   {notice(ratelimit.FirstNotice{Slots: 1, PerCategory: 1}), true},
		"1 slot, 0 per category":   {notice(ratelimit.FirstNotice{Slots: 1}), false},
		"slots of -1":              {notice(ratelimit.FirstNotice{Auto: true, Slots: -1, PerCategory: 1}), false},
		"a floor of -1":            {notice(ratelimit.FirstNotice{Auto: true, Floor: -1}), false},
		"a limit of 0":             {window(ratelimit.Window{Per: time.Minute}), true},
		"a limit of -1":            {window(ratelimit.Window{Limit: -1, Per: time.Minute}), false},
		"a window of 1 µs":         {window(ratelimit.Window{Limit: 1, Per: time.Microsecond}), true},
		"a window of 999 ns":       {window(ratelimit.Window{Limit: 1, Per: 999}), false},
		"no windows":               {channel(func(l *ratelimit.Level) { l.Windows = nil }), false},
		"an unknown strategy":      {strategy(ratelimit.Strategy{Kind: "x"}), false},
		"a burst of 0":             {strategy(ratelimit.Strategy{Kind: ratelimit.GCRA}), true},
		"a burst of -1":            {strategy(ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: -1}), false},
		"a bucket of -1 ns":        {strategy(ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: -1}), false},
		"a bucket of 1 ns":         {strategy(ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 1}), true},
		"an aligned window":        {strategy(ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}), true},
		"an unknown anchor":        {strategy(ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: "x"}), false},
		"a list":                   {strategy(ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.List}), true},
		"an unknown queue":         {strategy(ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: "x"}), false},
		"headroom of 0, at a gate": {strategy(gate), true},
		"headroom of -1":           {func(r *store.Request) { r.Headroom = -1 }, false},
		"headroom of 1":            {func(r *store.Request) { r.Headroom = 1 }, true},
		"headroom of 1, at a gate": {func(r *store.Request) { strategy(gate)(r); r.Headroom = 1 }, false},
		"fairness at a gate":       {func(r *store.Request) { strategy(gate)(r); reserves(1, 1)(r) }, false},
		"fairness, no channel":     {func(r *store.Request) { reserves(1, 1)(r); r.Levels[0].Name = "x" }, false},
		"fairness, no category":    {func(r *store.Request) { reserves(1, 1)(r); r.Levels[1].Name = "x" }, false},
		"fairness, a gate below": {func(r *store.Request) {
			reserves(1, 1)(r)
			r.Levels[1].Strategy = gate
		}, false},
		"a reserve at a gate": {func(r *store.Request) {
			reserves(1, 1)(r)
			r.Fairness.Reserves[0].Level.Strategy = gate
		}, false},
		"nothing is reserved at a gate": {func(r *store.Request) { strategy(gate)(r); r.Fairness = &ratelimit.Fairness{} }, true},
		"32 levels": {func(r *store.Request) {
			for len(r.Levels) < 32 {
				r.Levels = append(r.Levels, r.Levels[0])
			}
		}, true},
		"33 levels": {func(r *store.Request) {
			for len(r.Levels) < 33 {
				r.Levels = append(r.Levels, r.Levels[0])
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			r := Small.Request("1", "a")
			row.change(&r)
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
