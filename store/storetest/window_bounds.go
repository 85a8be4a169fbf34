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
	{"StepOfFiveSecondsMovesNothing", testStepOfFiveSecondsMovesNothing},
	{"StepIsNoticedBehindHeadroom", testStepIsNoticedBehindHeadroom},
	{"WindowAfterAStepIsNotShorter", testWindowAfterAStepIsNotShorter},
	{"SmallStepLeavesUnitsInTheirWindow", testSmallStepLeavesUnitsInTheirWindow},
	{"LevelIsKeptAfterAStepUntilItIsEmpty", testLevelIsKeptAfterAStepUntilItIsEmpty},
	{"BucketsLeaveAtTheirEnds", testBucketsLeaveAtTheirEnds},
	{"BucketThatWasRemovedDoesNotComeBack", testBucketThatWasRemovedDoesNotComeBack},
	{"BucketsOfTwoWidthsLeaveAtTheirOwnEnds", testBucketsOfTwoWidthsLeaveAtTheirOwnEnds},
	{"UnitCountsToTheLastMicrosecond", testUnitCountsToTheLastMicrosecond},
	{"IdleCounterCountsTheWindowBefore", testIdleCounterCountsTheWindowBefore},
	{"FirstOfTwoWindowsThatOpenTogetherIsNamed", testFirstOfTwoWindowsThatOpenTogetherIsNamed},
	{"UnitsThatNoWindowCountsAreBounded", testUnitsThatNoWindowCountsAreBounded},
	{"UnitsOfALongerWindowAreBounded", testUnitsOfALongerWindowAreBounded},
	{"OtherWindowsAreForgottenAfterADay", testOtherWindowsAreForgottenAfterADay},
	{"UnitsOfOthersDrainAtTheOwnRate", testUnitsOfOthersDrainAtTheOwnRate},
}

var (
	counter   = ratelimit.Strategy{Kind: ratelimit.SlidingCounter}
	aligned   = ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}
	secondly  = ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: time.Second}
	sixtieths = ratelimit.Strategy{Kind: ratelimit.SlidingBuckets}
)

// toTheGridOf moves the clock to the next instant at which an aligned window of a level begins.
func (b Fixture) toTheGridOf(level ratelimit.Level) {
	per, now := ratelimit.Longest(level.Windows).Microseconds(), b.Now().UnixMicro()
	phase := level.GridPhase()
	next := (now+phase)/per*per + per - phase
	b.Advance(time.Duration(next-now) * time.Microsecond)
}

// Clocks that differ by up to 5 s are no step: nothing is moved.
func testStepOfFiveSecondsMovesNothing(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := channelLevel(s.Strategy, ratelimit.Window{Limit: 1, Per: time.Hour})
			more := atLevel(level, "2", min(2, level.Capacity(level.Windows[0])))
			b.MustAdmit(t, atLevel(level, "1", 1))
			for _, row := range []struct{ back, stepped time.Duration }{{5 * time.Second, 0}, {time.Microsecond, 5*time.Second + time.Microsecond}} {
				b.Advance(-row.back)
				answer, err := b.Admit(t.Context(), Scope, []store.Request{more})
				require.NoError(t, err)
				require.Equal(t, store.Dropped, answer.Decisions[0].Outcome)
				require.Equal(t, row.stepped, answer.Stepped)
			}
		})
	}
}

// What a request must leave free does not hide that the clock went back.
func testStepIsNoticedBehindHeadroom(t *testing.T, start Start) {
	b := start(t)
	r := atLevel(channelLevel(ratelimit.Strategy{}, PerMinute(3)), "1", 2)
	b.MustAdmit(t, r)
	b.Advance(-time.Minute)
	r.ID, r.N, r.Headroom = "2", 1, 1
	answer, err := b.Admit(t.Context(), Scope, []store.Request{r})
	require.NoError(t, err)
	require.Equal(t, time.Minute, answer.Stepped)
	require.Equal(t, time.Minute, answer.Decisions[0].RetryAfter)
}

// A window that a step of the clock moved lasts as long as any, and the next one begins at its end. An empty window is on the
// grid.
func testWindowAfterAStepIsNotShorter(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		refunded bool
		first    time.Duration
	}{"with units": {false, time.Minute}, "empty": {true, 10 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := channelLevel(aligned, PerMinute(1))
			b.toTheGridOf(level)
			b.MustAdmit(t, atLevel(level, "1", 1))
			if row.refunded {
				require.NoError(t, b.Refund(t.Context(), Scope, atLevel(level, "1", 1)))
			}
			b.Advance(-10 * time.Second)
			b.AdmitOne(t, atLevel(level, "2", 1))
			d := b.AdmitOne(t, atLevel(level, "3", 1))
			require.Equal(t, row.first, d.RetryAfter)
			b.Advance(row.first)
			require.Equal(t, "+-", Outcomes(b.MustAdmit(t, atLevel(level, "4", 1), atLevel(level, "5", 1))))
			require.Equal(t, time.Minute, b.AdmitOne(t, atLevel(level, "6", 1)).RetryAfter)
		})
	}
}

// Where clocks differ by little around the end of a window, what the later one counted is in the later window.
func testSmallStepLeavesUnitsInTheirWindow(t *testing.T, start Start) {
	b := start(t)
	b.ToTheGrid()
	level := channelLevel(counter, PerMinute(10))
	b.MustAdmit(t, atLevel(level, "1", 4))
	b.Advance(-time.Second)
	b.MustAdmit(t, atLevel(level, "2", 2))
	b.Advance(31 * time.Second)
	require.Equal(t, int64(6), b.Used(t, level))
}

// What a level holds after a step that a refused request noticed is kept as if the clock had not changed.
func testLevelIsKeptAfterAStepUntilItIsEmpty(t *testing.T, start Start) {
	b := start(t)
	level := channelLevel(ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 10}, ratelimit.Window{Limit: 1, Per: time.Hour})
	b.MustAdmit(t, atLevel(level, "1", 10))
	b.Advance(-time.Minute)
	require.Equal(t, store.Dropped, b.AdmitOne(t, atLevel(level, "2", 1)).Outcome)
	b.Advance(3 * time.Hour)
	require.Equal(t, int64(7), b.UsedOf(t, level))
}

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

// Replicas with other windows have buckets of another width. Each bucket counts for as long as its own width says, and what only
// the longer window counts is kept in its width.
func testBucketsOfTwoWidthsLeaveAtTheirOwnEnds(t *testing.T, start Start) {
	b := start(t)
	b.Advance(b.Now().Truncate(time.Hour).Add(time.Hour).Sub(b.Now()))
	begin := b.Now()
	long := channelLevel(sixtieths, ratelimit.Window{Limit: 100, Per: time.Hour})
	short := channelLevel(sixtieths, PerMinute(100))
	at := func(d time.Duration) { b.Advance(begin.Add(d).Sub(b.Now())) }
	b.MustAdmit(t, atLevel(long, "1", 1)) // its bucket ends after a minute
	at(2 * time.Minute)
	b.MustAdmit(t, atLevel(short, "2", 1)) // its bucket ends after 2 min 1 s
	at(3*time.Minute + time.Second - time.Microsecond)
	require.Equal(t, int64(1), b.Used(t, short))
	at(3*time.Minute + time.Second)
	require.Zero(t, b.Used(t, short))
	b.MustAdmit(t, atLevel(short, "3", 5)) // ends after 3 min 2 s
	at(10 * time.Minute)
	b.MustAdmit(t, atLevel(short, "4", 1))
	for _, row := range []struct {
		at   time.Duration
		used int64
	}{
		{61*time.Minute - time.Microsecond, 8}, {61 * time.Minute, 7},
		{63*time.Minute - time.Microsecond, 7}, {63 * time.Minute, 6},
		{64*time.Minute - time.Microsecond, 6}, {64 * time.Minute, 1},
	} {
		at(row.at)
		require.Equal(t, row.used, b.Used(t, long), row.at)
	}
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

// Of the units that only the longer window of another configuration counts, the newest are kept: twice its limit.
func testUnitsOfALongerWindowAreBounded(t *testing.T, start Start) {
	b := start(t)
	long := channelLevel(ratelimit.Strategy{}, ratelimit.Window{Limit: 10, Per: time.Hour})
	short := channelLevel(ratelimit.Strategy{}, PerMinute(1000))
	b.MustAdmit(t, atLevel(long, "1", 1))
	b.MustAdmit(t, atLevel(short, "2", 100))
	b.Advance(time.Minute)
	b.MustAdmit(t, atLevel(short, "3", 30))
	require.Equal(t, int64(20+30), b.Used(t, long))
	b.MustAdmit(t, atLevel(short, "4", 10))
	require.Equal(t, int64(20+30+10), b.Used(t, long), "what is in the own window is not older than that")
	b.Advance(time.Minute)
	b.MustAdmit(t, atLevel(short, "5", 1))
	require.Equal(t, int64(20+1), b.Used(t, long))
}

// A window that its configuration did not use for 24 h counts what others admit no more.
func testOtherWindowsAreForgottenAfterADay(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		if s.Strategy.EffectiveKind() == ratelimit.Gate {
			continue // a gate holds one unit, whichever configuration spent it
		}
		last := int64(0) // what a window counts that was forgotten: the units are kept, and only those of the last admission are new
		if kind := s.Strategy.EffectiveKind(); kind == ratelimit.SlidingLog || kind == ratelimit.SlidingBuckets {
			last = 1
		}
		for name, row := range map[string]struct {
			after time.Duration
			again time.Duration // when the configuration uses its window again
			kept  bool
		}{
			"remembered": {24*time.Hour - time.Microsecond, 0, true},
			"forgotten":  {24 * time.Hour, 0, false},
			"used again": {30 * time.Hour, 20 * time.Hour, true},
		} {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := start(t)
				b.ToTheGrid()
				long := channelLevel(s.Strategy, ratelimit.Window{Limit: 1000, Per: 2 * time.Hour})
				short := channelLevel(s.Strategy, PerMinute(1000))
				n, begin, end := 0, b.Now(), b.Now().Add(row.after)
				admit := func(level ratelimit.Level, units int64) {
					n++
					b.MustAdmit(t, atLevel(level, fmt.Sprint(n), units))
				}
				admit(long, 1)
				for b.Now().Add(time.Hour).Before(end) {
					b.Advance(time.Hour)
					admit(short, 1)
					if row.again > 0 && b.Now().Equal(begin.Add(row.again)) {
						admit(long, 1)
					}
				}
				b.Advance(end.Add(-10 * time.Minute).Sub(b.Now()))
				admit(short, min(40, short.Capacity(short.Windows[0])))
				b.Advance(end.Sub(b.Now()))
				admit(short, 1)
				require.Equal(t, row.kept, b.Used(t, long) > last)
			})
		}
	}
}

// What others spend drains in a token bucket as what its own configuration spends.
func testUnitsOfOthersDrainAtTheOwnRate(t *testing.T, start Start) {
	b := start(t)
	slow := channelLevel(tokenBucket, ratelimit.Window{Limit: 2, Per: time.Hour})
	b.MustAdmit(t, atLevel(slow, "1", 1))
	b.MustAdmit(t, atLevel(channelLevel(tokenBucket, PerMinute(9)), "2", 1))
	require.Equal(t, 30*time.Minute, b.AdmitOne(t, atLevel(slow, "3", 1)).RetryAfter)
}
