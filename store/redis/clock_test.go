package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// The step that is reported is the clock's, whatever the limits and windows become meanwhile: a reload is none.
func TestReloadIsNoClockStep(t *testing.T) {
	t.Parallel()
	for _, s := range storetest.TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			clocked := redistest.NewClocked(t, redistest.Start(t).Client(), storetest.StartTime)
			var steps []time.Duration
			b := storetest.Fixture{Clock: clocked.Now, Limiter: redisstore.New(clocked, redisstore.Options{
				Now: clocked.Now, ClockStepped: func(_ string, by time.Duration) { steps = append(steps, by) },
			})}
			histories := 0
			rapid.Check(t, func(rt *rapid.T) {
				histories++
				onlyTheClock(rt, b, clocked, s.Strategy, fmt.Sprint("group ", histories), &steps)
			})
		})
	}
}

func onlyTheClock(rt *rapid.T, b storetest.Fixture, clocked *redistest.Clocked, s ratelimit.Strategy, group string,
	steps *[]time.Duration,
) {
	var last time.Time // of the last admission, as it is kept
	log := s.Kind == ""
	for i := range rapid.IntRange(10, 40).Draw(rt, "events") {
		clocked.Advance(rapid.SampledFrom([]time.Duration{
			0, time.Millisecond, time.Second, 10 * time.Second, -3 * time.Second, -6 * time.Second, -time.Hour,
		}).Draw(rt, "pause"))
		tier := storetest.DrawLevelSpec(rt, "", s)
		*steps = nil
		r := store.Request{Request: ratelimit.Request{
			ID:     fmt.Sprint(group, "/", i),
			Levels: []ratelimit.Level{store.ChannelLevel(tier, group)},
		}}
		answer, err := b.Admit(rt.Context(), storetest.Scope, []store.Request{r})
		require.NoError(rt, err)
		ahead := last.Sub(b.Now())
		switch {
		case ahead <= 5*time.Second:
			require.Empty(rt, *steps, "a reload is no step")
		case log && len(*steps) == 0: // a log moves entries when they make it refuse
			require.LessOrEqual(rt, answer.Decisions[0].RetryAfter, 25*time.Second, "the longest window, and what is waited for")
		default:
			require.Equal(rt, []time.Duration{ahead}, *steps)
			last = b.Now()
		}
		if answer.Decisions[0].Outcome == store.Admitted && b.Now().After(last) {
			last = b.Now()
		}
	}
}

func TestClockStepIsReportedOnce(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	clocked := redistest.NewClocked(t, client, storetest.StartTime)
	var steps []string
	b := storetest.Fixture{Limiter: redisstore.New(clocked, redisstore.Options{
		Now: clocked.Now, ClockStepped: func(channel string, by time.Duration) { steps = append(steps, fmt.Sprint(channel, " ", by)) },
	})}
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	b.MustAdmit(t, l.Request("1", "a"))
	clocked.Advance(-4 * time.Second)
	require.Equal(t, 64*time.Second, b.AdmitOne(t, l.Request("2", "a")).RetryAfter, "a small step is waited for")
	require.Empty(t, steps)
	clocked.Advance(-time.Hour)
	require.Equal(t, time.Minute, b.AdmitOne(t, l.Request("2", "a")).RetryAfter)
	require.Equal(t, []string{"alerts 1h0m4s"}, steps)
	require.Equal(t, time.Minute, b.AdmitOne(t, l.Request("2", "a")).RetryAfter)
	require.Len(t, steps, 1, "a step is moved and told once")
}
