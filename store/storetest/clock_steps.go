package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var clockStepsBehaviours = []behaviour{
	{"RetryTimeAfterAStepBackIsExact", testRetryTimeAfterAStepBackIsExact},
	{"DuplicateReportsNoStep", testDuplicateReportsNoStep},
	{"UnitsThatLeftAWindowCountAgainAfterAStepBack", testUnitsThatLeftAWindowCountAgainAfterAStepBack},
	{"ForgottenAdmissionIsNotRefunded", testForgottenAdmissionIsNotRefunded},
	{"ForgottenRefundDoesNotPreventAnother", testForgottenRefundDoesNotPreventAnother},
	{"RefundAfterAStepBackGivesBack", testRefundAfterAStepBackGivesBack},
	{"NarrowestBucketIsOfOneMicrosecond", testNarrowestBucketIsOfOneMicrosecond},
	{"EmptyWindowBeginsAnewAfterAStepBack", testEmptyWindowBeginsAnewAfterAStepBack},
}

// perHour is a channel's level that admits so many units in an hour.
func perHour(limit int64, s ratelimit.Strategy) ratelimit.Level {
	return store.ChannelLevel(ratelimit.LevelSpec{
		Name: "channel", Strategy: s, Windows: []ratelimit.Window{{Limit: limit, Per: time.Hour}},
	}, Scope.Group)
}

// A unit that this call spent is older than one from before the clock went back, and leaves the window first.
func testRetryTimeAfterAStepBackIsExact(t *testing.T, start Start) {
	b := start(t)
	level := perHour(2, ratelimit.Strategy{})
	b.MustAdmit(t, atLevel(level, "1", 1))
	b.Advance(-time.Second)
	got := b.MustAdmit(t, atLevel(level, "2", 1), atLevel(level, "3", 1))
	require.Equal(t, "+-", Outcomes(got))
	require.Equal(t, time.Hour, got[1].RetryAfter)
}

// Nothing is read of the levels of a duplicate.
func testDuplicateReportsNoStep(t *testing.T, start Start) {
	b := start(t)
	r := atLevel(perHour(2, ratelimit.Strategy{Kind: ratelimit.GCRA}), "1", 1)
	b.MustAdmit(t, r)
	b.Advance(-time.Minute)
	answer, err := b.Admit(t.Context(), Scope, []store.Request{r})
	require.NoError(t, err)
	require.Equal(t, store.Duplicate, answer.Decisions[0].Outcome)
	require.Zero(t, answer.Stepped)
	r.ID = "2"
	answer, err = b.Admit(t.Context(), Scope, []store.Request{r})
	require.NoError(t, err)
	require.Equal(t, time.Minute, answer.Stepped)
}

func testUnitsThatLeftAWindowCountAgainAfterAStepBack(t *testing.T, start Start) {
	b := start(t)
	level := perHour(4, ratelimit.Strategy{})
	b.MustAdmit(t, atLevel(level, "1", 1))
	b.Advance(time.Hour)
	b.MustAdmit(t, atLevel(level, "2", 1))
	require.Equal(t, int64(1), b.Used(t, level))
	b.Advance(-time.Second)
	require.Equal(t, int64(2), b.Used(t, level))
}

// An id is remembered for an hour. At that instant, it is not known any more when it was admitted.
func testForgottenAdmissionIsNotRefunded(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		after time.Duration
		want  int64
	}{
		"remembered": {time.Hour - time.Microsecond, 0},
		"forgotten":  {time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := store.ChannelLevel(ratelimit.LevelSpec{
				Name: "channel", Strategy: ratelimit.Strategy{Kind: ratelimit.FixedWindow},
				Windows: []ratelimit.Window{{Limit: 4, Per: 2 * time.Hour}},
			}, Scope.Group)
			b.MustAdmit(t, atLevel(level, "1", 1))
			b.Advance(row.after)
			require.NoError(t, b.Refund(t.Context(), Scope, atLevel(level, "1", 1)))
			require.Equal(t, row.want, b.Used(t, level))
		})
	}
}

// An id that was forgotten can be admitted again, and is refunded again.
func testForgottenRefundDoesNotPreventAnother(t *testing.T, start Start) {
	b := start(t)
	level := perHour(4, ratelimit.Strategy{})
	r := atLevel(level, "1", 1)
	for range 2 {
		b.MustAdmit(t, r)
		require.Equal(t, int64(1), b.Used(t, level))
		require.NoError(t, b.Refund(t.Context(), Scope, r))
		require.Zero(t, b.Used(t, level))
		b.Advance(time.Hour)
	}
}

// A window of which every unit was refunded begins on its grid, as if nothing had been there.
func testEmptyWindowBeginsAnewAfterAStepBack(t *testing.T, start Start) {
	b := start(t)
	b.ToTheGrid()
	level := perHour(1, ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned})
	b.Advance(time.Second)
	b.MustAdmit(t, atLevel(level, "1", 1))
	full := b.AdmitOne(t, atLevel(level, "2", 1))
	require.Equal(t, store.Dropped, full.Outcome)
	require.NoError(t, b.Refund(t.Context(), Scope, atLevel(level, "1", 1)))
	b.Advance(-10 * time.Second)
	b.MustAdmit(t, atLevel(level, "3", 1))
	again := b.AdmitOne(t, atLevel(level, "4", 1))
	require.Equal(t, store.Dropped, again.Outcome)
	require.Equal(t, (full.RetryAfter+10*time.Second)%time.Hour, again.RetryAfter%time.Hour, "the end of the window is on the same grid")
}

func testRefundAfterAStepBackGivesBack(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := perHour(4, s.Strategy)
			b.MustAdmit(t, atLevel(level, "1", 1))
			b.Advance(-time.Minute)
			b.MustAdmit(t, atLevel(level, "2", 1))
			before := b.Used(t, level)
			if s.Strategy.Kind == ratelimit.Gate {
				before++ // the second one was refused
			}
			require.NoError(t, b.Refund(t.Context(), Scope, atLevel(level, "2", 1)))
			require.Equal(t, before-1, b.Used(t, level))
		})
	}
}

func testNarrowestBucketIsOfOneMicrosecond(t *testing.T, start Start) {
	for name, s := range map[string]ratelimit.Strategy{
		"1 ns":                         {Kind: ratelimit.SlidingBuckets, Bucket: 1},
		"a sixtieth of a short window": {Kind: ratelimit.SlidingBuckets},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := store.ChannelLevel(ratelimit.LevelSpec{
				Name: "channel", Strategy: s, Windows: []ratelimit.Window{{Limit: 1, Per: 30 * time.Microsecond}},
			}, Scope.Group)
			for _, ids := range [][2]string{{"1", "2"}, {"3", "4"}} { // at an even and at an odd time
				got := b.MustAdmit(t, atLevel(level, ids[0], 1), atLevel(level, ids[1], 1))
				require.Equal(t, "+-", Outcomes(got))
				require.Equal(t, 31*time.Microsecond, got[1].RetryAfter)
				b.Advance(31 * time.Microsecond)
			}
		})
	}
}
