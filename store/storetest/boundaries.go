package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var boundariesBehaviours = []behaviour{
	{"BucketThatJustLeftAWindowFreesNothing", testBucketThatJustLeftAWindowFreesNothing},
	{"LongerWindowUnusedForADayIsForgotten", testLongerWindowUnusedForADayIsForgotten},
	{"IdleLevelForgetsTheWindowsOfOthers", testIdleLevelForgetsTheWindowsOfOthers},
	{"BurstOutlivesAnIdleWindow", testBurstOutlivesAnIdleWindow},
	{"WideBucketCountsWhileTheLevelIsIdle", testWideBucketCountsWhileTheLevelIsIdle},
	{"OneCategoryTooManyForgetsTheMostSilent", testOneCategoryTooManyForgetsTheMostSilent},
	{"NewCategoryIsKnownOnce", testNewCategoryIsKnownOnce},
	{"CategoryThatAsksAgainAfterADayIsKnown", testCategoryThatAsksAgainAfterADayIsKnown},
}

func ofBuckets(windows ...ratelimit.Window) ratelimit.Level {
	return store.ChannelLevel(ratelimit.LevelSpec{
		Name: "channel", Windows: windows,
		Strategy: ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 125 * time.Millisecond},
	}, Scope.Group)
}

// A bucket that has just left a window frees nothing in it any more, although a longer window still counts it.
func testBucketThatJustLeftAWindowFreesNothing(t *testing.T, start Start) {
	b := start(t)
	b.ToTheGrid()
	level := ofBuckets(ratelimit.Window{Limit: 2, Per: 500 * time.Millisecond}, ratelimit.Window{Limit: 10, Per: 2 * time.Second})
	ask := func(id string, units int64) store.Decision {
		return b.AdmitOne(t, store.Request{Request: ratelimit.Request{ID: id, N: units, Levels: []ratelimit.Level{level}}})
	}
	require.Equal(t, store.Admitted, ask("1", 1).Outcome)
	b.Advance(500 * time.Millisecond)
	require.Equal(t, store.Admitted, ask("2", 1).Outcome)
	b.Advance(125 * time.Millisecond) // the bucket of 1 ended 500 ms ago
	d := ask("3", 2)
	require.Equal(t, store.Dropped, d.Outcome)
	require.Equal(t, int64(1), d.Remaining[0].Used)
	require.Equal(t, 500*time.Millisecond, d.RetryAfter, "when the bucket of 2 leaves the window")
}

// Buckets are kept for a longer window of another configuration until it was not used for 24 h.
func testLongerWindowUnusedForADayIsForgotten(t *testing.T, start Start) {
	b := start(t)
	b.ToTheGrid()
	long, short := ofBuckets(ratelimit.Window{Limit: 100, Per: time.Hour}), ofBuckets(ratelimit.Window{Limit: 100, Per: time.Minute})
	n := 0
	admit := func(level ratelimit.Level) {
		n++
		r := ratelimit.Request{ID: fmt.Sprint(n), Levels: []ratelimit.Level{level}}
		require.Equal(t, store.Admitted, b.AdmitOne(t, store.Request{Request: r}).Outcome)
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
}

// A level that admits nothing for a minute longer than its longest window is forgotten, and with it which windows use it.
func testIdleLevelForgetsTheWindowsOfOthers(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		idle time.Duration
		want int64
	}{
		"remembered": {time.Hour + 30*time.Second, 2},
		"forgotten":  {time.Hour + 61*time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.ToTheGrid()
			long, short := ofBuckets(ratelimit.Window{Limit: 100, Per: time.Hour}), ofBuckets(ratelimit.Window{Limit: 100, Per: time.Minute})
			admit := func(id string, level ratelimit.Level) {
				require.Equal(t, store.Admitted, b.AdmitOne(t, atLevel(level, id, 1)).Outcome)
			}
			admit("1", long)
			b.Advance(row.idle)
			admit("2", short)
			b.Advance(2 * time.Minute)
			admit("3", short)
			require.Equal(t, row.want, b.UsedOf(t, long))
		})
	}
}

// A burst that is larger than the limit takes longer than the window to drain. It is not forgotten before.
func testBurstOutlivesAnIdleWindow(t *testing.T, start Start) {
	b := start(t)
	level := store.ChannelLevel(ratelimit.LevelSpec{
		Name: "channel", Windows: []ratelimit.Window{{Limit: 1, Per: time.Hour}},
		Strategy: ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 10},
	}, Scope.Group)
	require.Equal(t, store.Admitted, b.AdmitOne(t, atLevel(level, "1", 10)).Outcome)
	b.Advance(3 * time.Hour)
	require.Equal(t, int64(7), b.UsedOf(t, level))
}

// A bucket counts until its end has left the window, also where the level is idle.
func testWideBucketCountsWhileTheLevelIsIdle(t *testing.T, start Start) {
	b := start(t)
	b.ToTheGrid()
	level := store.ChannelLevel(ratelimit.LevelSpec{
		Name: "channel", Windows: []ratelimit.Window{{Limit: 10, Per: time.Hour}},
		Strategy: ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: time.Hour},
	}, Scope.Group)
	require.Equal(t, store.Admitted, b.AdmitOne(t, atLevel(level, "1", 1)).Outcome)
	ends := b.Now().Truncate(time.Hour).Add(2 * time.Hour).Sub(b.Now())
	b.Advance(ends - time.Microsecond)
	require.Equal(t, int64(1), b.UsedOf(t, level))
	b.Advance(time.Microsecond)
	require.Equal(t, int64(0), b.UsedOf(t, level))
}

// A thousand categories are known at most: one more has exactly the one forgotten that was silent longest.
func testOneCategoryTooManyForgetsTheMostSilent(t *testing.T, start Start) {
	b := start(t)
	fair := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}
	l := Limits{Channel: PerMinute(1_010), Category: PerMinute(1_010)}
	request := func(category string, units int64) store.Request {
		r := With(l.Request(category, category), units)
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
	answer, err := b.Peek(t.Context(), Scope, again[1:])
	require.NoError(t, err)
	require.Equal(t, store.Admitted, answer.Decisions[0].Outcome, "10 leave 999 for the others")
	require.Equal(t, store.Dropped, answer.Decisions[1].Outcome, "11 leave 998")
}

// autoNotice asks for units of a category, of which 3 a minute fit into the channel, with the reserve for first notices learned.
func autoNotice(fair *ratelimit.Fairness, id, category string, units int64) store.Request {
	l := Limits{Channel: PerMinute(3), Category: PerMinute(3)}
	r := With(l.Request(id, category), units)
	r.Fairness = fair
	return r
}

// A category that asks for the first time counts once among the known, in the same call, whether it is admitted or not.
func testNewCategoryIsKnownOnce(t *testing.T, start Start) {
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
			b := start(t)
			b.AdmitOne(t, autoNotice(fair, "1", "heard", 1))
			got := b.MustAdmit(t, autoNotice(fair, "2", "new", 4), autoNotice(fair, "3", "heard", row.units))
			require.Equal(t, store.Never, got[0].Outcome)
			require.Equal(t, row.want, got[1].Outcome)
		})
	}
}

// A category is known for 24 h after it asked; where it asks again at that instant, it still counts, and once.
func testCategoryThatAsksAgainAfterADayIsKnown(t *testing.T, start Start) {
	fair := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}
	b := start(t)
	b.AdmitOne(t, autoNotice(fair, "1", "rare", 4))
	b.Advance(24 * time.Hour)
	got := b.MustAdmit(t, autoNotice(fair, "2", "heard", 1), autoNotice(fair, "3", "rare", 4),
		autoNotice(fair, "4", "heard", 2), autoNotice(fair, "5", "heard", 1))
	require.Equal(t, store.Dropped, got[2].Outcome, "2 would leave none for the rare one")
	require.Equal(t, store.Admitted, got[3].Outcome)
}

// atLevel is a request of one level for so many units.
func atLevel(level ratelimit.Level, id string, units int64) store.Request {
	return store.Request{Request: ratelimit.Request{ID: id, N: units, Levels: []ratelimit.Level{level}}}
}
