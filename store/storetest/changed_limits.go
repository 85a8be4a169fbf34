package storetest

import (
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
