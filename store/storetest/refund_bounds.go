package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var refundBoundsBehaviours = []behaviour{
	{"RefundOfWhatWasNotAdmittedPreventsNone", testRefundOfWhatWasNotAdmittedPreventsNone},
	{"RefundAtALevelThatIsEmptyPreventsNone", testRefundAtALevelThatIsEmptyPreventsNone},
	{"RefundAtALevelThatIsEmptyPreventsNoneAtThatInstant", testRefundAtALevelThatIsEmptyPreventsNoneAtThatInstant},
	{"UnitsThatHadTimeToDrainAreNotRefunded", testUnitsThatHadTimeToDrainAreNotRefunded},
	{"UnitsOfTheWindowBeforeAreRefunded", testUnitsOfTheWindowBeforeAreRefunded},
	{"UnitAtTheBeginningOfAWindowIsRefunded", testUnitAtTheBeginningOfAWindowIsRefunded},
	{"AdmissionOutsideTheWindowIsNotRefunded", testAdmissionOutsideTheWindowIsNotRefunded},
	{"RefundedUnitsLeaveNoBucketBehind", testRefundedUnitsLeaveNoBucketBehind},
	{"LastAdmissionOfAnIDIsRefunded", testLastAdmissionOfAnIDIsRefunded},
}

// refund refunds a request.
func (b Fixture) refund(t *testing.T, r store.Request) {
	t.Helper()
	require.NoError(t, b.Refund(t.Context(), Scope, r))
}

// A refund that gave nothing back does not prevent that of a later admission with the same id.
func testRefundOfWhatWasNotAdmittedPreventsNone(t *testing.T, start Start) {
	for _, s := range Strategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			r := atLevel(channelLevel(s.Strategy, PerMinute(9)), "1", 1)
			r.Levels = append(r.Levels, Level(Scope, "category", "a", PerMinute(9)))
			b.refund(t, r)
			b.MustAdmit(t, r)
			b.refund(t, r)
			require.Zero(t, b.Used(t, r.Levels[1]))
		})
	}
}

// Nor does one of an id that was admitted at other levels: an hour later the id is forgotten, and can be admitted and refunded.
func testRefundAtALevelThatIsEmptyPreventsNone(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			r := atLevel(channelLevel(s.Strategy, PerMinute(9)), "1", 1)
			elsewhere := r
			elsewhere.Levels = []ratelimit.Level{Level(Scope, "category", "a", PerMinute(9))}
			b.MustAdmit(t, elsewhere)
			b.Advance(30 * time.Minute)
			b.refund(t, r)
			b.Advance(30 * time.Minute)
			b.MustAdmit(t, r)
			require.Equal(t, int64(1), b.Used(t, r.Levels[0]))
			b.refund(t, r)
			require.Zero(t, b.Used(t, r.Levels[0]))
		})
	}
}

func testRefundAtALevelThatIsEmptyPreventsNoneAtThatInstant(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			r := atLevel(channelLevel(s.Strategy, PerMinute(9)), "1", 1)
			elsewhere := r
			elsewhere.Levels = []ratelimit.Level{{Name: "category", Key: r.Levels[0].Key + ":a", Windows: r.Levels[0].Windows, Strategy: s.Strategy}}
			b.MustAdmit(t, elsewhere)
			b.refund(t, r)
			b.refund(t, elsewhere)
			require.Zero(t, b.UsedOf(t, elsewhere.Levels[0]))
		})
	}
}

func testUnitsThatHadTimeToDrainAreNotRefunded(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		after time.Duration
		used  int64
	}{
		"a moment before": {10*time.Second - time.Microsecond, 1},
		"at that instant": {10 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := channelLevel(tokenBucket, PerMinute(6))
			b.MustAdmit(t, atLevel(level, "1", 1), atLevel(level, "2", 1))
			b.Advance(row.after)
			b.refund(t, atLevel(level, "1", 1))
			require.Equal(t, row.used, b.Used(t, level))
		})
	}
}

// The sliding counter gives back what was spent in the current window or in the one before, and nothing older.
func testUnitsOfTheWindowBeforeAreRefunded(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		at   time.Duration
		used int64 // before the refund
	}{
		"an older window":          {2*time.Minute - time.Microsecond, 5},
		"begin of the one before":  {2 * time.Minute, 6},
		"end of the one before":    {3*time.Minute - time.Microsecond, 6},
		"begin of the current one": {3 * time.Minute, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.ToTheGrid()
			begin, level := b.Now(), channelLevel(counter, PerMinute(20))
			admit := func(at time.Duration, id string, units int64) {
				b.Advance(begin.Add(at).Sub(b.Now()))
				b.MustAdmit(t, atLevel(level, id, units))
			}
			all := map[time.Duration]func(){
				2 * time.Minute: func() { admit(2*time.Minute, "before", 3) },
				3 * time.Minute: func() { admit(3*time.Minute, "current", 2) },
			}
			for _, at := range []time.Duration{2*time.Minute - moment, 2 * time.Minute, 3*time.Minute - moment, 3 * time.Minute} {
				if at == row.at {
					admit(at, "1", 1)
				}
				if other := all[at]; other != nil {
					other()
				}
			}
			require.Equal(t, row.used, b.Used(t, level))
			b.refund(t, atLevel(level, "1", 1))
			require.Equal(t, int64(5), b.Used(t, level))
		})
	}
}

func testUnitAtTheBeginningOfAWindowIsRefunded(t *testing.T, start Start) {
	b := start(t)
	level := channelLevel(aligned, PerMinute(9))
	b.toTheGridOf(level)
	b.MustAdmit(t, atLevel(level, "1", 1), atLevel(level, "2", 1))
	for _, row := range []struct {
		id   string
		used int64
	}{{"1", 1}, {"2", 0}} {
		b.refund(t, atLevel(level, row.id, 1))
		require.Equal(t, row.used, b.Used(t, level))
	}
}

// After a step of the clock, a window may end before what was admitted in it.
func testAdmissionOutsideTheWindowIsNotRefunded(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		if !rulesOf(s.Strategy).shared {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := channelLevel(s.Strategy, PerMinute(9))
			b.ToTheGrid()
			b.MustAdmit(t, atLevel(level, "1", 1))
			b.Advance(-time.Minute)
			b.MustAdmit(t, atLevel(level, "2", 1))
			before := b.Used(t, level)
			b.refund(t, atLevel(level, "1", 1))
			require.Equal(t, before, b.Used(t, level))
		})
	}
}

func testRefundedUnitsLeaveNoBucketBehind(t *testing.T, start Start) {
	b := start(t)
	level := channelLevel(secondly, PerMinute(9))
	b.ToTheGrid()
	b.MustAdmit(t, atLevel(level, "1", 1))
	b.Advance(-time.Minute)
	b.MustAdmit(t, atLevel(level, "2", 1))
	b.refund(t, atLevel(level, "1", 1)) // it was moved, and is in no bucket of its time
	b.MustAdmit(t, atLevel(level, "3", 1))
	require.Equal(t, int64(3), b.Used(t, level))
	b.Advance(61 * time.Second)
	require.Zero(t, b.Used(t, level))
}

func testLastAdmissionOfAnIDIsRefunded(t *testing.T, start Start) {
	b := start(t)
	r := atLevel(channelLevel(ratelimit.Strategy{}, ratelimit.Window{Limit: 9, Per: 3 * time.Hour}), "1", 1)
	for range 2 {
		b.MustAdmit(t, r)
		b.Advance(time.Hour)
	}
	b.Advance(-time.Microsecond) // the second one is remembered
	b.refund(t, r)
	require.Equal(t, int64(1), b.Used(t, r.Levels[0]))
	b.Advance(time.Hour + time.Microsecond)
	require.Zero(t, b.Used(t, r.Levels[0]))
}
