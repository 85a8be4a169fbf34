package pipeline

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Work is added before each wake-up, and a run takes all that it finds. In each round, wake-ups hit a run at some point of it,
// and nothing comes after them: what is left at the end of the round was missed.
func TestNoWakeUpIsLost(t *testing.T) {
	t.Parallel()
	const rounds, wakers = 2000, 3
	var left, running atomic.Int64
	var runs channelRuns
	defer runs.open(func(channel string, _ bool, _ func()) {
		for done := false; !done; {
			if running.Add(1) != 1 {
				t.Error("a channel runs twice")
			}
			left.Store(0)
			runtime.Gosched()
			running.Add(-1)
			done = runs.leave(t.Context(), channel)
		}
	})()
	isRunning := func() bool {
		runs.mu.Lock()
		defer runs.mu.Unlock()
		return len(runs.running) > 0
	}
	for range rounds {
		var all sync.WaitGroup
		for range wakers {
			all.Go(func() {
				left.Add(1)
				runs.wake("a")
			})
		}
		runs.start("a", func() {})
		all.Wait()
		for isRunning() {
			runtime.Gosched()
		}
		require.Zero(t, left.Load())
	}
}

func TestNothingRunsAfterTheStop(t *testing.T) {
	t.Parallel()
	var runs channelRuns
	var began atomic.Int64
	run := func(channel string, _ bool, _ func()) {
		began.Add(1)
		runs.leave(t.Context(), channel)
	}
	runs.wake("a")
	require.Zero(t, began.Load(), "it waits")
	runs.open(run)()
	require.Equal(t, int64(1), began.Load(), "it was woken before the start")
	runs.wake("a")
	runs.start("b", func() {})
	require.Equal(t, int64(1), began.Load())
}

func TestMemoryOfAChannelIsKeptWhileItMatters(t *testing.T) {
	t.Parallel()
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		memory memory
		kept   bool
	}{
		"nothing":             {memory{}, false},
		"a call":              {memory{reserved: map[string]time.Time{"x": later}}, true},
		"a call too late":     {memory{reserved: map[string]time.Time{"x": earlier}}, false},
		"no posts":            {memory{exhausted: later}, true},
		"posts again":         {memory{exhausted: earlier}, false},
		"no lookups":          {memory{blindUntil: later}, true},
		"a logged outage":     {memory{unavailable: true}, true},
		"lookups are allowed": {memory{blindUntil: earlier}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m memories
			m.save("a", c.memory)
			m.forget()
			require.Equal(t, c.kept, len(m.saved) == 1)
			require.Equal(t, c.memory.exhausted.Equal(later), m.isExhausted("a"))
			m.take("a")
			require.Empty(t, m.saved)
		})
	}
}
