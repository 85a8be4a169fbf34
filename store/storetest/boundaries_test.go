package storetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/storetest"
)

func ofBuckets(windows ...ratelimit.Window) ratelimit.Level {
	return store.ChannelLevel(ratelimit.LevelSpec{
		Name: "channel", Windows: windows,
		Strategy: ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 125 * time.Millisecond},
	}, storetest.Scope.Group)
}

// A bucket that has just left a window frees nothing in it any more, although a longer window still counts it.
func TestABucketThatJustLeftAWindowFreesNothing(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		b.ToTheGrid()
		level := ofBuckets(ratelimit.Window{Limit: 2, Per: 500 * time.Millisecond}, ratelimit.Window{Limit: 10, Per: 2 * time.Second})
		ask := func(id string, units int64) store.Decision {
			return b.AdmitOne(t, store.Request{ID: id, N: units, Levels: []ratelimit.Level{level}})
		}
		require.Equal(t, store.Admitted, ask("1", 1).Outcome)
		b.Advance(500 * time.Millisecond)
		require.Equal(t, store.Admitted, ask("2", 1).Outcome)
		b.Advance(125 * time.Millisecond) // the bucket of 1 ended 500 ms ago
		d := ask("3", 2)
		require.Equal(t, store.Dropped, d.Outcome)
		require.Equal(t, int64(1), d.Remaining[0].Used)
		require.Equal(t, 500*time.Millisecond, d.RetryAfter, "when the bucket of 2 leaves the window")
	})
}

// Buckets are kept for a longer window of another configuration until it was not used for 24 h.
func TestALongerWindowThatNobodyUsedForADayIsForgotten(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		b.ToTheGrid()
		long, short := ofBuckets(ratelimit.Window{Limit: 100, Per: time.Hour}), ofBuckets(ratelimit.Window{Limit: 100, Per: time.Minute})
		n := 0
		admit := func(level ratelimit.Level) {
			n++
			require.Equal(t, store.Admitted, b.AdmitOne(t, store.Request{ID: fmt.Sprint(n), Levels: []ratelimit.Level{level}}).Outcome)
		}
		admit(long)
		for range 46 { // until 23 h later; an idle level would end after its longest window
			b.Advance(30 * time.Minute)
			admit(short)
		}
		b.Advance(15 * time.Minute)
		require.Equal(t, int64(2), b.UsedOf(t, long), "as long as it is remembered, what it counts is kept")
		for range 3 { // until 24 h 45 min later
			b.Advance(30 * time.Minute)
			admit(short)
		}
		b.Advance(30 * time.Second)
		require.Equal(t, int64(1), b.UsedOf(t, long), "what only it counted is removed")
	})
}

// A thousand categories are known at most: one more has exactly the one forgotten that was silent longest.
func TestOneCategoryTooManyForgetsOne(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		fair := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}
		l := storetest.Limits{Channel: storetest.PerMinute(1_010), Category: storetest.PerMinute(1_010)}
		request := func(category string, units int64) store.Request {
			r := storetest.With(l.Request(category, category), units)
			r.Fairness = fair
			return r
		}
		for batch := range 10 {
			var requests []store.Request
			for i := range 100 {
				requests = append(requests, request(fmt.Sprint("c-", batch*100+i), 1))
			}
			b.MustAdmit(t, requests...)
			b.Advance(time.Millisecond)
		}
		b.AdmitOne(t, request("one-more", 1))
		b.Advance(2 * time.Minute) // nobody is heard now, and 1000 are known
		var again []store.Request
		for i, units := range []int64{1, 10, 11} {
			again = append(again, request("c-999", units))
			again[i].ID = fmt.Sprint("again-", i)
		}
		require.Equal(t, store.Admitted, b.AdmitOne(t, again[0]).Outcome)
		decisions, err := b.Peek(t.Context(), storetest.Scope, again[1:])
		require.NoError(t, err)
		require.Equal(t, store.Admitted, decisions[0].Outcome, "10 leave 999 for the others")
		require.Equal(t, store.Dropped, decisions[1].Outcome, "11 leave 998")
	})
}

// autoNotice asks for units of a category, of which 3 a minute fit into the channel, with the reserve for first notices learned.
func autoNotice(fair *ratelimit.Fairness, id, category string, units int64) store.Request {
	l := storetest.Limits{Channel: storetest.PerMinute(3), Category: storetest.PerMinute(3)}
	r := storetest.With(l.Request(id, category), units)
	r.Fairness = fair
	return r
}

// A category that asks for the first time counts once among the known, in the same call, whether it is admitted or not.
func TestANewCategoryIsKnownOnce(t *testing.T) {
	t.Parallel()
	fair := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}
	for name, row := range map[string]struct {
		units int64
		want  store.Outcome
	}{
		"1 leaves 1 for the new one": {1, store.Admitted},
		"2 leave none":               {2, store.Dropped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
				b.AdmitOne(t, autoNotice(fair, "1", "heard", 1))
				got := b.MustAdmit(t, autoNotice(fair, "2", "new", 4), autoNotice(fair, "3", "heard", row.units))
				require.Equal(t, store.Never, got[0].Outcome)
				require.Equal(t, row.want, got[1].Outcome)
			})
		})
	}
}

// A category is known for 24 h after it asked; where it asks again at that instant, it still counts, and once.
func TestACategoryThatAsksAgainAfterADayIsKnown(t *testing.T) {
	t.Parallel()
	fair := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		b.AdmitOne(t, autoNotice(fair, "1", "rare", 4))
		b.Advance(24 * time.Hour)
		got := b.MustAdmit(t, autoNotice(fair, "2", "heard", 1), autoNotice(fair, "3", "rare", 4),
			autoNotice(fair, "4", "heard", 2), autoNotice(fair, "5", "heard", 1))
		require.Equal(t, store.Dropped, got[2].Outcome, "2 would leave none for the rare one")
		require.Equal(t, store.Admitted, got[3].Outcome)
	})
}

func TestARefundRefusesBadArguments(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for name, args := range map[string][]any{
		"no units":                {"id", "", 1000, "sliding-log", 0, 1, 10, 1000},
		"0 units":                 {"id", 0, 1000, "sliding-log", 0, 1, 10, 1000},
		"no time to remember it":  {"id", 1, 0, "sliding-log", 0, 1, 10, 1000},
		"no option":               {"id", 1, 1000, "sliding-log", "", 1, 10, 1000},
		"no number of windows":    {"id", 1, 1000, "sliding-log", 0},
		"no limit":                {"id", 1, 1000, "sliding-log", 0, 1, "", 1000},
		"no length":               {"id", 1, 1000, "sliding-log", 0, 1, 10, ""},
		"no limit of the second":  {"id", 1, 1000, "sliding-log", 0, 2, 10, 1000, "", 2000},
		"no length of the second": {"id", 1, 1000, "sliding-log", 0, 2, 10, 1000, 20, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := lua.Refund.Run(t.Context(), client, []string{"seen " + name, "refunds " + name, "level " + name}, args...).Err()
			require.ErrorContains(t, err, "ARG ")
			require.Zero(t, client.Exists(t.Context(), "refunds "+name).Val())
		})
	}
}
