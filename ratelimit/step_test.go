package ratelimit_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
						ID: fmt.Sprint(name, n), Levels: []ratelimit.Level{ratelimit.ChannelLevel(tier, "steady "+name)},
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
				return ratelimit.Request{ID: id, Levels: []ratelimit.Level{ratelimit.ChannelLevel(tier, "steps")}}
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

// However often the clock goes back: in true time, no window holds more than its strategy promises, refunds included.
func TestClockStepsAndRefundsAdmitNoMore(t *testing.T) {
	t.Parallel()
	for _, s := range strategies[:7] {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			onEvery(t, func(t *testing.T, b bundle) {
				histories := 0
				rapid.Check(t, func(rt *rapid.T) {
					histories++
					for _, steps := range []bool{true, false} {
						group := fmt.Sprint(s.name, "/", histories, "/", steps)
						tier := ratelimit.Tier{Name: "channel", Strategy: s.strategy, Windows: []ratelimit.Window{{
							Limit: rapid.Int64Range(2, 5).Draw(rt, "limit"), Per: 10 * time.Second,
						}}}
						stepsOrRefunds(rt, b, tier, group, steps)
					}
				})
			})
		})
	}
}

func stepsOrRefunds(rt *rapid.T, b bundle, tier ratelimit.Tier, group string, steps bool) {
	var elapsed time.Duration // in truth
	var o oracle
	level := ratelimit.ChannelLevel(tier, group)
	refundable := tier.Strategy.Kind != ratelimit.GCRA && tier.Strategy.Kind != ratelimit.Gate
	for i := range rapid.IntRange(15, 40).Draw(rt, "events") {
		pause := rapid.SampledFrom([]time.Duration{
			0, time.Millisecond, 100 * time.Millisecond, time.Second, 4999 * time.Millisecond, 9999 * time.Millisecond,
		}).Draw(rt, "pause")
		b.advance(pause)
		elapsed += pause
		if steps {
			b.advance(rapid.SampledFrom([]time.Duration{0, 0, 0, 0, -4 * time.Second, -6 * time.Second, -time.Hour}).Draw(rt, "step"))
		} else if refundable && len(o.admitted) > 0 && rapid.IntRange(0, 3).Draw(rt, "refund") == 0 {
			id := rapid.SampledFrom(o.admitted).Draw(rt, "which").id
			require.NoError(rt, b.Refund(rt.Context(), scope, ratelimit.Request{ID: id, Levels: []ratelimit.Level{level}}))
			o.refund(id)
		}
		r := ratelimit.Request{ID: fmt.Sprint(group, "/", i), Levels: []ratelimit.Level{level}}
		d, err := b.Admit(rt.Context(), scope, []ratelimit.Request{r})
		require.NoError(rt, err)
		if d[0].Outcome == ratelimit.Admitted {
			o.admitted = append(o.admitted, admission{at: elapsed.Microseconds(), id: r.ID, units: 1, keys: []string{level.Key}})
		}
		in := o.between(level.Key, (elapsed-10*time.Second).Microseconds()+1, elapsed.Microseconds()+1)
		require.LessOrEqual(rt, in, promised(tier))
	}
}

// promised is the most that docs/strategies.md lets one window hold.
func promised(tier ratelimit.Tier) int64 {
	limit := tier.Windows[0].Limit
	switch tier.Strategy.Kind {
	case ratelimit.FixedWindow:
		if tier.Strategy.Anchor == ratelimit.Aligned {
			return 2 * limit
		}
		return 2*limit - 1
	case ratelimit.SlidingCounter:
		return 2 * limit
	case ratelimit.GCRA:
		return limit + tier.Strategy.Burst - 1
	default:
		return limit
	}
}
