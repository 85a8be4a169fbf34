package replica_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/storetest"
)

// Whatever the strategy, and however far the clock of the store goes back under load: the channel is open again within one
// window, though the closed cache decides most requests.
func TestSteadyLoadOpensWithinAWindowAfterAClockStep(t *testing.T) {
	t.Parallel()
	const per = 10 * time.Second
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		for _, s := range storetest.TimedStrategies() {
			for _, step := range []time.Duration{6 * time.Second, 100 * time.Second, time.Hour} {
				name := fmt.Sprint(s.Name, " ", step)
				t.Run(name, func(t *testing.T) {
					spec := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{{Limit: 4, Per: per}}}
					ask := steadyLoad(t, b, name, spec)
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
					require.Positive(t, admitted)
				})
			}
		}
	})
}

// pace is the time between two requests of a steady load.
const pace = 50 * time.Millisecond

// steadyLoad returns a function that asks a replica for one unit, and lets the time to the next request pass.
func steadyLoad(t *testing.T, b storetest.Fixture, name string, spec ratelimit.LevelSpec) (ask func() store.Outcome) {
	t.Helper()
	local := &storetest.Clock{T: storetest.StartTime} // of the process: it is monotonic
	shared := storetest.Share(t, b.Limiter, replica.Options{Now: local.Now, MergeEvery: time.Hour})
	level := store.ChannelLevel(spec, "steady "+name)
	n := 0
	return func() store.Outcome {
		n++
		answer, err := shared.Admit(t.Context(), storetest.Scope, []store.Request{{
			Request: ratelimit.Request{ID: fmt.Sprint(name, n), Levels: []ratelimit.Level{level}},
		}})
		require.NoError(t, err)
		for replica.Refreshing(shared, storetest.Scope) {
			runtime.Gosched()
		}
		b.Advance(pace)
		local.Advance(pace)
		return answer.Decisions[0].Outcome
	}
}
