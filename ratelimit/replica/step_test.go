package replica_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// Whatever the strategy, and however far the clock of Redis goes back while events keep coming: the channel is open
// again within one window, though the closed-until cache answers most of them.
func TestSteadyLoadOpensWithinAWindowAfterAClockStep(t *testing.T) {
	t.Parallel()
	const per, pace = 10 * time.Second, 50 * time.Millisecond
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		for _, s := range storetest.Strategies[:7] {
			for _, step := range []time.Duration{6 * time.Second, 100 * time.Second, time.Hour} {
				name := fmt.Sprint(s.Name, " ", step)
				local := &storetest.Clock{T: storetest.StartTime} // of the process: it is monotonic
				shared := storetest.Share(t, b.Limiter, replica.Options{Now: local.Now, FoldEvery: time.Hour})
				tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{{Limit: 4, Per: per}}}
				n := 0
				ask := func() store.Outcome {
					n++
					d, err := shared.Admit(t.Context(), storetest.Scope, []store.Request{{
						ID: fmt.Sprint(name, n), Levels: []ratelimit.Level{store.ChannelLevel(tier, "steady "+name)},
					}})
					require.NoError(t, err, name)
					for replica.Refreshing(shared, storetest.Scope) {
						runtime.Gosched()
					}
					b.Advance(pace)
					local.Advance(pace)
					return d[0].Outcome
				}
				for range 2 * per / pace {
					ask()
				}
				b.Advance(-step)
				admitted := 0
				for range (per + per/2) / pace {
					if ask() == store.Admitted {
						admitted++
					}
				}
				require.Positive(t, admitted, name)
			}
		}
	})
}

// Only an admission moves what lies ahead, so only an admission reports the step.
func TestAPeekReportsNoStep(t *testing.T) {
	t.Parallel()
	for _, s := range storetest.Strategies[:7] {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			clocked := redistest.NewClocked(t, redistest.Start(t).Client(), storetest.StartTime)
			var steps []time.Duration
			b := storetest.Fixture{Limiter: redisstore.New(clocked, redisstore.Options{
				Now: clocked.Now, ClockStepped: func(_ string, by time.Duration) { steps = append(steps, by) },
			})}
			tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{storetest.PerMinute(1)}}
			request := func(id string) store.Request {
				return store.Request{ID: id, Levels: []ratelimit.Level{store.ChannelLevel(tier, "steps")}}
			}
			b.MustAdmit(t, request("1"))
			clocked.Advance(-time.Hour)
			for range 3 {
				_, err := b.Peek(t.Context(), storetest.Scope, []store.Request{request("2")})
				require.NoError(t, err)
			}
			require.Empty(t, steps)
			for range 3 {
				b.MustAdmit(t, request("2"))
			}
			require.Equal(t, []time.Duration{time.Hour}, steps, "moved and reported once, by how far the clock went back")
		})
	}
}

// However often the clock goes back: in true time, no window holds more than its strategy promises, refunds included.
func TestClockStepsAndRefundsAdmitNoMore(t *testing.T) {
	t.Parallel()
	for _, s := range storetest.Strategies[:7] {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
				histories := 0
				rapid.Check(t, func(rt *rapid.T) {
					histories++
					for _, steps := range []bool{true, false} {
						group := fmt.Sprint(s.Name, "/", histories, "/", steps)
						tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{{
							Limit: rapid.Int64Range(2, 5).Draw(rt, "limit"), Per: 10 * time.Second,
						}}}
						stepsOrRefunds(rt, b, tier, group, steps)
					}
				})
			})
		})
	}
}

func stepsOrRefunds(rt *rapid.T, b storetest.Fixture, tier ratelimit.LevelSpec, group string, steps bool) {
	var elapsed time.Duration // in truth
	var o storetest.Oracle
	level := store.ChannelLevel(tier, group)
	refundable := tier.Strategy.Kind != ratelimit.GCRA && tier.Strategy.Kind != ratelimit.Gate
	for i := range rapid.IntRange(15, 40).Draw(rt, "events") {
		pause := rapid.SampledFrom([]time.Duration{
			0, time.Millisecond, 100 * time.Millisecond, time.Second, 4999 * time.Millisecond, 9999 * time.Millisecond,
		}).Draw(rt, "pause")
		b.Advance(pause)
		elapsed += pause
		if steps {
			b.Advance(rapid.SampledFrom([]time.Duration{0, 0, 0, 0, -4 * time.Second, -6 * time.Second, -time.Hour}).Draw(rt, "step"))
		} else if refundable && len(o.Admitted) > 0 && rapid.IntRange(0, 3).Draw(rt, "refund") == 0 {
			id := rapid.SampledFrom(o.Admitted).Draw(rt, "which").ID
			require.NoError(rt, b.Refund(rt.Context(), storetest.Scope, store.Request{ID: id, Levels: []ratelimit.Level{level}}))
			o.Refund(id)
		}
		r := store.Request{ID: fmt.Sprint(group, "/", i), Levels: []ratelimit.Level{level}}
		d, err := b.Admit(rt.Context(), storetest.Scope, []store.Request{r})
		require.NoError(rt, err)
		if d[0].Outcome == store.Admitted {
			o.Admitted = append(o.Admitted, storetest.Admission{At: elapsed.Microseconds(), ID: r.ID, Units: 1, Keys: []string{level.Key}})
		}
		in := o.Between(level.Key, (elapsed-10*time.Second).Microseconds()+1, elapsed.Microseconds()+1)
		require.LessOrEqual(rt, in, storetest.Promised(tier))
	}
}
