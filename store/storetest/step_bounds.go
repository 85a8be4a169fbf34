package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var stepBoundsBehaviours = []behaviour{
	{"StepOfFiveSecondsMovesNothing", testStepOfFiveSecondsMovesNothing},
	{"StepIsNoticedBehindHeadroom", testStepIsNoticedBehindHeadroom},
	{"WindowAfterAStepIsNotShorter", testWindowAfterAStepIsNotShorter},
	{"SmallStepLeavesUnitsInTheirWindow", testSmallStepLeavesUnitsInTheirWindow},
	{"LevelIsKeptAfterAStepUntilItIsEmpty", testLevelIsKeptAfterAStepUntilItIsEmpty},
	{"StepFillsNoWindowOfAnotherConfiguration", testStepFillsNoWindowOfAnotherConfiguration},
}

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

// A window of another configuration that is empty stays empty after a step that a refused request noticed, however much less the
// clock goes back then.
func testStepFillsNoWindowOfAnotherConfiguration(t *testing.T, start Start) {
	b := start(t)
	gate := ratelimit.Strategy{Kind: ratelimit.Gate}
	hourly, perMinute := channelLevel(gate, ratelimit.Window{Limit: 2, Per: time.Hour}), channelLevel(gate, PerMinute(1))
	first, second := atLevel(hourly, "1", 1), atLevel(perMinute, "2", 1)
	b.MustAdmit(t, first)
	b.MustAdmit(t, second)
	b.Advance(-3 * time.Second)
	require.NoError(t, b.Refund(t.Context(), Scope, first))
	require.NoError(t, b.Refund(t.Context(), Scope, second))
	b.Advance(-3 * time.Second)
	require.Equal(t, store.Never, b.AdmitOne(t, atLevel(hourly, "3", 2)).Outcome)
	b.Advance(-3 * time.Second)
	require.Equal(t, store.Admitted, b.AdmitOne(t, atLevel(perMinute, "4", 1)).Outcome)
}
