package app

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// leastGoal is the smallest heap, in bytes, at which garbage is collected. Without it, a relay with few channels, which keeps
// about 5 MiB, would collect as little at a time, and spend a tenth of the processor time of a storm on that.
const leastGoal = 32 << 20

// defaultPercent is by how many percent the heap grows between two collections, unless GOGC sets it.
const defaultPercent = 100

// raiseSmallHeap lets the heap of this process grow to leastGoal before garbage is collected, unless GOGC or GOMEMLIMIT is set. A
// heap that keeps half of that or more is collected as usual. A memory limit still applies.
var raiseSmallHeap = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" { //nolint:forbidigo // Go's own variables, not settings of the relay
		afterCollection(raiseGoal)
	}
})

// raiseGoal sets by how many percent the heap grows until the next collection.
func raiseGoal() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(percentFor(live[0].Value.Uint64()))
}

// percentFor returns by how many percent a heap of so many live bytes grows until the next collection.
func percentFor(live uint64) int {
	if live >= leastGoal/2 {
		return defaultPercent
	}
	live = max(live, leastGoal/16)              // before the first collection, 0
	return int((leastGoal - live) * 100 / live) //nolint:gosec // at most 1,500
}

// collected is garbage from the beginning, so each collection finds one. It is not so small that others share its memory.
type collected struct{ _ [4]uint64 }

// afterCollection calls do now and after each collection of garbage, from then on.
func afterCollection(do func()) {
	do()
	runtime.AddCleanup(new(collected), afterCollection, do)
}
