package app

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASmallHeapGrowsFurtherBeforeItIsCollected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live    uint64
		percent int
	}{
		"not known yet":         {0, 1500},
		"tiny":                  {1 << 20, 1500},
		"a few channels":        {4 << 20, 700},
		"a quarter of the goal": {8 << 20, 300},
		"half of the goal":      {16 << 20, 100},
		"ten thousand or more":  {500 << 20, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.percent, percentFor(c.live))
		})
	}
}

// Not parallel: the percentage is that of the whole process.
func TestTheHeapIsCollectedAtTheLeastGoal(t *testing.T) { //nolint:paralleltest // see above
	before := debug.SetGCPercent(defaultPercent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	runtime.GC()
	raiseGoal()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(goal)
	require.GreaterOrEqual(t, goal[0].Value.Uint64(), uint64(leastGoal)*9/10)
}

func TestEachCollectionIsNoticed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	afterCollection(func() { calls.Add(1) })
	require.EqualValues(t, 1, calls.Load())
	require.Eventually(t, func() bool {
		runtime.GC()
		return calls.Load() > 2
	}, 10*time.Second, time.Millisecond)
}
