package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var windowBoundsBehaviours = []behaviour{
	{"BucketsLeaveAtTheirEnds", testBucketsLeaveAtTheirEnds},
	{"BucketThatWasRemovedDoesNotComeBack", testBucketThatWasRemovedDoesNotComeBack},
	{"UnitCountsToTheLastMicrosecond", testUnitCountsToTheLastMicrosecond},
	{"IdleCounterCountsTheWindowBefore", testIdleCounterCountsTheWindowBefore},
	{"FirstOfTwoWindowsThatOpenTogetherIsNamed", testFirstOfTwoWindowsThatOpenTogetherIsNamed},
	{"UnitsThatNoWindowCountsAreBounded", testUnitsThatNoWindowCountsAreBounded},
}

var (
	counter   = ratelimit.Strategy{Kind: ratelimit.SlidingCounter}
	aligned   = ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}
	secondly  = ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: time.Second}
	sixtieths = ratelimit.Strategy{Kind: ratelimit.SlidingBuckets}
)

// A bucket is a sixtieth of the longest window, unless its width is configured: at least a microsecond.
func testBucketsLeaveAtTheirEnds(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		s    ratelimit.Strategy
		wait time.Duration
	}{
		"a sixtieth": {sixtieths, 61 * time.Second},
		"1 ns":       {ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 1}, time.Minute + time.Microsecond},
		"10 s":       {ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 10 * time.Second}, 70 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.ToTheGrid()
			level := channelLevel(row.s, PerMinute(1))
			d := b.MustAdmit(t, atLevel(level, "1", 1), atLevel(level, "2", 1))[1]
			require.Equal(t, row.wait, d.RetryAfter)
			b.Advance(row.wait - time.Microsecond)
			require.Equal(t, "-", Outcomes(b.MustAdmit(t, atLevel(level, "3", 1))))
			b.Advance(time.Microsecond)
			require.Equal(t, "+", Outcomes(b.MustAdmit(t, atLevel(level, "4", 1))))
		})
	}
}

// A bucket that has left every window is removed with the next admission, and counts no more where the clock steps back a little.
func testBucketThatWasRemovedDoesNotComeBack(t *testing.T, start Start) {
	b := start(t)
	b.ToTheGrid()
	level := channelLevel(secondly, PerMinute(5))
	b.MustAdmit(t, atLevel(level, "1", 1))
	b.Advance(61 * time.Second)
	b.MustAdmit(t, atLevel(level, "2", 2))
	b.Advance(-time.Microsecond)
	require.Equal(t, int64(2), b.Used(t, level))
}

func testUnitCountsToTheLastMicrosecond(t *testing.T, start Start) {
	t.Run("of the window after its own", func(t *testing.T) {
		t.Parallel()
		b := start(t)
		b.ToTheGrid()
		level := channelLevel(counter, PerMinute(5))
		b.MustAdmit(t, atLevel(level, "1", 1))
		b.Advance(2*time.Minute - time.Microsecond)
		require.Equal(t, int64(1), b.Used(t, level))
		b.Advance(time.Microsecond)
		require.Zero(t, b.Used(t, level))
	})
	for _, s := range []ratelimit.Strategy{counter, tokenBucket} {
		t.Run("of the shortest window, "+string(s.Kind), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := channelLevel(s, ratelimit.Window{Limit: 5, Per: time.Microsecond})
			b.MustAdmit(t, atLevel(level, "1", 4))
			require.Equal(t, int64(4), b.Used(t, level))
			b.Advance(time.Microsecond)
			require.Equal(t, map[ratelimit.StrategyKind]int64{ratelimit.SlidingCounter: 4, ratelimit.GCRA: 3}[s.Kind], b.Used(t, level))
		})
	}
}

func testIdleCounterCountsTheWindowBefore(t *testing.T, start Start) {
	b := start(t)
	b.Advance(b.Now().Truncate(time.Hour).Add(time.Hour).Sub(b.Now()))
	level := channelLevel(counter, ratelimit.Window{Limit: 12, Per: time.Hour})
	b.MustAdmit(t, atLevel(level, "1", 12))
	b.Advance(90 * time.Minute)
	require.Equal(t, int64(6), b.UsedOf(t, level))
}

func testFirstOfTwoWindowsThatOpenTogetherIsNamed(t *testing.T, start Start) {
	b := start(t)
	minute, half := PerMinute(2), ratelimit.Window{Limit: 1, Per: 30 * time.Second}
	level := channelLevel(ratelimit.Strategy{}, minute, half)
	b.MustAdmit(t, atLevel(level, "1", 1))
	b.Advance(30 * time.Second)
	answer, err := b.Admit(t.Context(), Scope, []store.Request{atLevel(level, "2", 1), atLevel(level, "3", 1)})
	require.NoError(t, err)
	require.Equal(t, minute, answer.Decisions[1].Window)
	require.Equal(t, 30*time.Second, answer.Decisions[1].RetryAfter)
	require.Len(t, answer.Closed, 1)
	require.Zero(t, answer.Closed[0].Window)
}

// Up to 32 units that no window counts are kept, and count again where the clock steps back. Above, all of them are removed.
func testUnitsThatNoWindowCountsAreBounded(t *testing.T, start Start) {
	for _, row := range []struct{ units, used int64 }{{32, 32 + 3}, {33, 3}} {
		t.Run(fmt.Sprint(row.units), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := channelLevel(ratelimit.Strategy{}, PerMinute(100))
			b.MustAdmit(t, atLevel(level, "1", row.units))
			b.Advance(time.Minute - time.Second)
			b.MustAdmit(t, atLevel(level, "2", 2))
			b.Advance(time.Second)
			b.MustAdmit(t, atLevel(level, "3", 1))
			b.Advance(-time.Microsecond)
			require.Equal(t, row.used, b.Used(t, level))
		})
	}
}
