package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var changedLimitsBehaviours = []behaviour{
	{"BucketWithAnotherLimitHoldsItsUnits", testBucketWithAnotherLimitHoldsItsUnits},
	{"BucketWithAnotherLimitHoldsWhatIsLeft", testBucketWithAnotherLimitHoldsWhatIsLeft},
	{"BurstOfOneAdmitsOneAtOnce", testBurstOfOneAdmitsOneAtOnce},
	{"BucketWithAnotherLimitHoldsItsUnitsAfterAStepBack", testBucketWithAnotherLimitHoldsItsUnitsAfterAStepBack},
	{"StepBackSpendsNothingInOtherWindows", testStepBackSpendsNothingInOtherWindows},
	{"WindowsAreSharedFromTheFirstAdmissionOn", testWindowsAreSharedFromTheFirstAdmissionOn},
	{"BucketsOfTwoWidthsLeaveAtTheirOwnEnds", testBucketsOfTwoWidthsLeaveAtTheirOwnEnds},
	{"UnitsOfALongerWindowAreBounded", testUnitsOfALongerWindowAreBounded},
	{"UnitTooManyOfALongerWindowIsRemoved", testUnitTooManyOfALongerWindowIsRemoved},
	{"OtherWindowsAreForgottenAfterADay", testOtherWindowsAreForgottenAfterADay},
	{"UnitsOfOthersDrainAtTheOwnRate", testUnitsOfOthersDrainAtTheOwnRate},
}

// channelLevel is a channel's level of a strategy.
func channelLevel(s ratelimit.Strategy, windows ...ratelimit.Window) ratelimit.Level {
	return store.ChannelLevel(ratelimit.LevelSpec{Name: ratelimit.LevelChannel, Strategy: s, Windows: windows}, Scope.Group)
}

var tokenBucket = ratelimit.Strategy{Kind: ratelimit.GCRA}

// A token bucket whose limit is changed holds what it held, whatever the length of its window.
func testBucketWithAnotherLimitHoldsItsUnits(t *testing.T, start Start) {
	for name, per := range map[string]time.Duration{"1 s": time.Second, "30 days": 30 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.MustAdmit(t, atLevel(channelLevel(tokenBucket, ratelimit.Window{Limit: 3, Per: per}), "1", 2))
			for _, row := range []struct{ limit, used int64 }{{6, 2}, {2, 2}, {1, 1}, {0, 0}} {
				require.Equal(t, row.used, b.Used(t, channelLevel(tokenBucket, ratelimit.Window{Limit: row.limit, Per: per})), row.limit)
			}
		})
	}
}

// It holds something until it has drained.
func testBucketWithAnotherLimitHoldsWhatIsLeft(t *testing.T, start Start) {
	b := start(t)
	b.MustAdmit(t, atLevel(channelLevel(tokenBucket, PerMinute(2)), "1", 1))
	b.Advance(30*time.Second - moment)
	require.Equal(t, int64(1), b.Used(t, channelLevel(tokenBucket, PerMinute(1))))
	b.Advance(moment)
	require.Zero(t, b.Used(t, channelLevel(tokenBucket, PerMinute(1))))
}

func testBurstOfOneAdmitsOneAtOnce(t *testing.T, start Start) {
	b := start(t)
	level := channelLevel(ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 1}, PerMinute(6))
	require.Equal(t, "+-", Outcomes(b.MustAdmit(t, atLevel(level, "1", 1), atLevel(level, "2", 1))))
	b.Advance(10 * time.Second)
	require.Equal(t, "+-", Outcomes(b.MustAdmit(t, atLevel(level, "3", 1), atLevel(level, "4", 1))))
}

func testBucketWithAnotherLimitHoldsItsUnitsAfterAStepBack(t *testing.T, start Start) {
	b := start(t)
	b.MustAdmit(t, atLevel(channelLevel(tokenBucket, PerMinute(1)), "1", 1))
	b.Advance(-time.Hour)
	require.Equal(t, int64(1), b.Used(t, channelLevel(tokenBucket, PerMinute(2))))
}

// After a step back, the windows of another configuration are moved, and nothing is spent in them.
func testStepBackSpendsNothingInOtherWindows(t *testing.T, start Start) {
	b := start(t)
	closed := channelLevel(tokenBucket, ratelimit.Window{Per: time.Hour}, ratelimit.Window{Limit: 5, Per: time.Second})
	open := channelLevel(tokenBucket, ratelimit.Window{Limit: 2, Per: 2 * time.Second})
	b.MustAdmit(t, atLevel(open, "1", 1))
	for _, level := range []ratelimit.Level{closed, open} {
		b.Advance(-time.Minute)
		require.Equal(t, store.Never, b.AdmitOne(t, atLevel(level, "2", 9)).Outcome)
	}
	b.Advance(-time.Second)
	usage, err := store.UsageOf(t.Context(), b, Scope, []ratelimit.Level{closed})
	require.NoError(t, err)
	require.Zero(t, usage[1].Used)
}

// The units of all configurations are counted in a window as soon as a configuration admitted something by it: not because a
// step of the clock was noticed by it.
func testWindowsAreSharedFromTheFirstAdmissionOn(t *testing.T, start Start) {
	hour := ratelimit.Window{Limit: 9, Per: time.Hour}
	for _, s := range TimedStrategies() {
		if !rulesOf(s.Strategy).shared {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			short, long := channelLevel(s.Strategy, PerMinute(9)), channelLevel(s.Strategy, hour)
			b.MustAdmit(t, atLevel(short, "1", 1))
			b.Advance(-time.Minute)
			require.Equal(t, store.Never, b.AdmitOne(t, atLevel(long, "2", 10)).Outcome)
			b.MustAdmit(t, atLevel(short, "3", 1))
			require.Zero(t, b.Used(t, long))
			b.MustAdmit(t, atLevel(long, "4", 1))
			b.MustAdmit(t, atLevel(short, "5", 1))
			require.Equal(t, int64(2), b.Used(t, long))
		})
	}
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
		{61*time.Minute - moment, 8},
		{61 * time.Minute, 7},
		{63*time.Minute - moment, 7},
		{63 * time.Minute, 6},
		{64*time.Minute - moment, 6},
		{64 * time.Minute, 1},
	} {
		at(row.at)
		require.Equal(t, row.used, b.Used(t, long), row.at)
	}
}

// Of the units that only the longer window of another configuration counts, the newest are kept: twice its limit.
func testUnitsOfALongerWindowAreBounded(t *testing.T, start Start) {
	b := start(t)
	long := channelLevel(ratelimit.Strategy{}, ratelimit.Window{Limit: 10, Per: time.Hour})
	short := channelLevel(ratelimit.Strategy{}, PerMinute(1000))
	admit := func(level ratelimit.Level, id string, units int64) {
		r := atLevel(level, id, units)
		wider := ratelimit.Window{Limit: 100_000, Per: ratelimit.Longest(level.Windows)} // of another limit
		r.Levels = append([]ratelimit.Level{Level(Scope, "wide", "x", wider)}, level)
		b.MustAdmit(t, r)
	}
	admit(long, "1", 1)
	admit(short, "2", 100)
	b.Advance(time.Minute)
	admit(short, "3", 30)
	require.Equal(t, int64(20+30), b.Used(t, long))
	admit(short, "4", 10)
	require.Equal(t, int64(20+30+10), b.Used(t, long), "what is in the own window is not older than that")
	b.Advance(time.Minute)
	admit(short, "5", 1)
	require.Equal(t, int64(20+1), b.Used(t, long))
}

// The oldest unit is removed where there is one too many.
func testUnitTooManyOfALongerWindowIsRemoved(t *testing.T, start Start) {
	b := start(t)
	long := channelLevel(ratelimit.Strategy{}, ratelimit.Window{Limit: 16, Per: time.Hour})
	short := channelLevel(ratelimit.Strategy{}, PerMinute(1000))
	b.MustAdmit(t, atLevel(long, "1", 1))
	b.MustAdmit(t, atLevel(short, "2", 32))
	b.Advance(time.Minute)
	b.MustAdmit(t, atLevel(short, "3", 1))
	require.Equal(t, int64(32+1), b.Used(t, long))
}

// A window that its configuration did not use for 24 h counts what others admit no more.
func testOtherWindowsAreForgottenAfterADay(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		if s.Strategy.EffectiveKind() == ratelimit.Gate {
			continue // a gate holds one unit, whichever configuration spent it
		}
		for name, row := range map[string]struct {
			after time.Duration
			again time.Duration // when the configuration uses its window again
			kept  bool
		}{
			"remembered": {24*time.Hour - moment, 0, true},
			"forgotten":  {24 * time.Hour, 0, false},
			"used again": {30 * time.Hour, 20 * time.Hour, true},
		} {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				require.Equal(t, row.kept, start(t).countsForOthers(t, s.Strategy, row.after, row.again))
			})
		}
	}
}

// countsForOthers uses a window of two hours, and from then on a window of a minute, hourly; after a while, the long one once
// more. It returns whether the long one counts what the short one admitted meanwhile.
func (b Fixture) countsForOthers(t *testing.T, s ratelimit.Strategy, after, again time.Duration) bool {
	t.Helper()
	b.ToTheGrid()
	long, short := channelLevel(s, ratelimit.Window{Limit: 1000, Per: 2 * time.Hour}), channelLevel(s, PerMinute(1000))
	begin, n := b.Now(), 0
	admit := func(at time.Duration, level ratelimit.Level, units int64) {
		n++
		b.Advance(begin.Add(at).Sub(b.Now()))
		b.MustAdmit(t, atLevel(level, fmt.Sprint(n), units))
	}
	admit(0, long, 1)
	for at := time.Hour; at < after; at += time.Hour {
		admit(at, short, 1)
		if at == again {
			admit(at, long, 1)
		}
	}
	admit(after-10*time.Minute, short, min(40, short.Capacity(short.Windows[0])))
	admit(after, short, 1)
	last := int64(0) // what a window counts that was forgotten: a log and buckets have the newest unit
	if kind := s.EffectiveKind(); kind == ratelimit.SlidingLog || kind == ratelimit.SlidingBuckets {
		last = 1
	}
	return b.Used(t, long) > last
}

// What others spend drains in a token bucket as what its own configuration spends.
func testUnitsOfOthersDrainAtTheOwnRate(t *testing.T, start Start) {
	b := start(t)
	slow := channelLevel(tokenBucket, ratelimit.Window{Limit: 2, Per: time.Hour})
	b.MustAdmit(t, atLevel(slow, "1", 1))
	b.MustAdmit(t, atLevel(channelLevel(tokenBucket, PerMinute(9)), "2", 1))
	require.Equal(t, 30*time.Minute, b.AdmitOne(t, atLevel(slow, "3", 1)).RetryAfter)
}
