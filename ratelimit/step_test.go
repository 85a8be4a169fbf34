package ratelimit_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

// Whatever the strategy, and however far the clock of Redis goes back while events keep coming: the channel is open
// again within one window, though the closed-until cache answers most of them.
func TestSteadyLoadOpensWithinAWindowAfterAClockStep(t *testing.T) {
	t.Parallel()
	const per, pace = 10 * time.Second, 50 * time.Millisecond
	onEvery(t, func(t *testing.T, b bundle) {
		for _, s := range strategies[:7] {
			for _, step := range []time.Duration{6 * time.Second, 100 * time.Second, time.Hour} {
				name := fmt.Sprint(s.name, " ", step)
				local := &clock{now: start} // of the process: it is monotonic
				shared := share(t, b.Limiter, ratelimit.SharedOptions{Now: local.Now, FoldEvery: time.Hour})
				tier := ratelimit.Tier{Name: "channel", Strategy: s.strategy, Windows: []ratelimit.Window{{Limit: 4, Per: per}}}
				n := 0
				ask := func() ratelimit.Outcome {
					n++
					d, err := shared.Admit(t.Context(), scope, []ratelimit.Request{{
						ID: fmt.Sprint(name, n), Levels: []ratelimit.Level{tier.Outer("steady " + name)},
					}})
					require.NoError(t, err, name)
					for ratelimit.Refreshing(shared, scope) {
						runtime.Gosched()
					}
					b.advance(pace)
					local.Advance(pace)
					return d[0].Outcome
				}
				for range 2 * per / pace {
					ask()
				}
				b.advance(-step)
				admitted := 0
				for range (per + per/2) / pace {
					if ask() == ratelimit.Admitted {
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
	for _, s := range strategies[:7] {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			clocked := redistest.NewClocked(t, redistest.Start(t).Client(), start)
			var steps []time.Duration
			b := bundle{Limiter: ratelimit.NewRedis(clocked, ratelimit.RedisOptions{
				Now: clocked.Now, Stepped: func(_ string, by time.Duration) { steps = append(steps, by) },
			})}
			tier := ratelimit.Tier{Name: "channel", Strategy: s.strategy, Windows: []ratelimit.Window{perMinute(1)}}
			request := func(id string) ratelimit.Request {
				return ratelimit.Request{ID: id, Levels: []ratelimit.Level{tier.Outer("steps")}}
			}
			b.admit(t, request("1"))
			clocked.Advance(-time.Hour)
			for range 3 {
				_, err := b.Peek(t.Context(), scope, []ratelimit.Request{request("2")})
				require.NoError(t, err)
			}
			require.Empty(t, steps)
			for range 3 {
				b.admit(t, request("2"))
			}
			require.Equal(t, []time.Duration{time.Hour}, steps, "moved and reported once, by how far the clock went back")
		})
	}
}
