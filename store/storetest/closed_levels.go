package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var closedLevelsBehaviours = []behaviour{
	{"FullLevelsAreReportedAsClosed", testFullLevelsAreReportedAsClosed},
	{"LevelThatHasRoomForOneIsNotClosed", testLevelThatHasRoomForOneIsNotClosed},
	{"ShadowLevelIsNeverClosed", testShadowLevelIsNeverClosed},
	{"ClosedLevelReportsTheWindowThatIsFullForLongest", testClosedLevelReportsTheWindowThatIsFullForLongest},
	{"ClockStepIsReportedByTheLargestStep", testClockStepIsReportedByTheLargestStep},
}

// closedLevel is a level that a call reported as closed.
type closedLevel struct {
	name   string
	window int
	closed time.Duration
}

// decide decides requests, and returns what the call reported besides.
func (b Fixture) decide(
	t *testing.T, mode store.Mode, requests ...store.Request,
) (outcomes string, closed []closedLevel, stepped time.Duration) {
	t.Helper()
	answer, err := b.method(mode)(t.Context(), Scope, requests)
	require.NoError(t, err)
	for _, c := range answer.Closed {
		closed = append(closed, closedLevel{c.Level.Name, c.Window, c.For})
	}
	return Outcomes(answer.Decisions), closed, answer.Stepped
}

// A refusal of one unit tells which levels cannot take one, and for how long; a replica need not ask for them until then.
func testFullLevelsAreReportedAsClosed(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(2), Category: PerMinute(1)}
	outcomes, closed, stepped := b.decide(t, store.ModeAdmit, l.Request("1", "a"))
	require.Equal(t, "+", outcomes)
	require.Empty(t, closed, "what was admitted is not asked again")
	require.Zero(t, stepped)
	b.Advance(10 * time.Second)
	outcomes, closed, _ = b.decide(t, store.ModeAdmit, l.Request("2", "a"), l.Request("3", "a"))
	require.Equal(t, "--", outcomes)
	require.Equal(t, []closedLevel{{"category", 0, 50 * time.Second}}, closed, "once for both requests")
	outcomes, closed, _ = b.decide(t, store.ModeAdmit, l.Request("4", "b"), l.Request("5", "b"), l.Request("6", "a"))
	require.Equal(t, "+--", outcomes)
	require.ElementsMatch(t, []closedLevel{
		{"channel", 0, 50 * time.Second}, {"category", 0, time.Minute}, {"category", 0, 50 * time.Second},
	}, closed)
	_, closed, _ = b.decide(t, store.ModePeek, l.Request("7", "b"))
	require.Len(t, closed, 2, "a peek reports them too")
}

func testLevelThatHasRoomForOneIsNotClosed(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(2), Category: PerMinute(2)}
	b.decide(t, store.ModeAdmit, l.Request("1", "a"))
	outcomes, closed, _ := b.decide(t, store.ModeAdmit, With(l.Request("2", "a"), 2))
	require.Equal(t, "-", outcomes)
	require.Empty(t, closed, "one unit fits")
	b.decide(t, store.ModeAdmit, l.Request("3", "a"))
	outcomes, closed, _ = b.decide(t, store.ModeAdmit, With(l.Request("4", "a"), 2))
	require.Equal(t, "-", outcomes)
	require.Empty(t, closed, "only a request of one unit finds out")
}

func testShadowLevelIsNeverClosed(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(9), Category: PerMinute(1)}
	shadowed := func(id string) store.Request {
		r := l.Request(id, "a")
		r.Levels[1].Shadow = true
		return r
	}
	outcomes, closed, _ := b.decide(t, store.ModeAdmit, shadowed("1"), shadowed("2"))
	require.Equal(t, "++", outcomes)
	require.Empty(t, closed)
}

func testClosedLevelReportsTheWindowThatIsFullForLongest(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		windows []ratelimit.Window
		want    closedLevel
	}{
		"the first":  {[]ratelimit.Window{{Limit: 1, Per: time.Hour}, {Limit: 1, Per: time.Minute}}, closedLevel{"channel", 0, time.Hour}},
		"the second": {[]ratelimit.Window{{Limit: 1, Per: time.Second}, {Limit: 1, Per: time.Minute}}, closedLevel{"channel", 1, time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := ChannelLevel(Scope.Group, row.windows...)
			_, closed, _ := b.decide(t, store.ModeAdmit, ofLevel("1", level), ofLevel("2", level))
			require.Equal(t, []closedLevel{row.want}, closed)
		})
	}
}

// ofLevel is a request of one level.
func ofLevel(id string, level ratelimit.Level) store.Request {
	r := Small.Request(id, "a")
	r.Levels = []ratelimit.Level{level}
	return r
}

// Where the clock went back, the call reports how far the state of the level that is furthest ahead was moved.
func testClockStepIsReportedByTheLargestStep(t *testing.T, start Start) {
	for _, s := range TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			tier := func(name string) ratelimit.Level {
				spec := ratelimit.LevelSpec{Name: name, Strategy: s.Strategy, Windows: []ratelimit.Window{PerMinute(1)}}
				return store.LevelOf(spec, Scope, "x")
			}
			early, late := tier("early"), tier("late")
			b.decide(t, store.ModeAdmit, ofLevel("1", early))
			b.Advance(time.Minute)
			b.decide(t, store.ModeAdmit, ofLevel("2", late))
			b.Advance(-time.Hour)
			_, _, stepped := b.decide(t, store.ModeAdmit, ofLevel("3", late), ofLevel("4", early))
			require.GreaterOrEqual(t, stepped, time.Hour)
			_, _, again := b.decide(t, store.ModeAdmit, ofLevel("3", late), ofLevel("4", early))
			require.Zero(t, again, "it is reported once")
		})
	}
}
