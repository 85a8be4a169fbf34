package replica_test

import (
	"fmt"
	"testing"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
	"slackrelay/store/storetest"
)

// BenchmarkClosed is a refusal that a replica knows by itself.
func BenchmarkClosed(b *testing.B) {
	shared := storetest.Share(b, memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), replica.Options{MaxStale: time.Hour})
	l := storetest.Limits{Channel: ratelimit.Window{Limit: 1, Per: time.Hour}, Category: ratelimit.Window{Limit: 1, Per: time.Hour}}
	requests := make([]store.Request, 20)
	for i := range requests {
		requests[i] = l.Request(fmt.Sprint(i), "errors")
	}
	for b.Loop() {
		if _, err := shared.Admit(b.Context(), storetest.Scope, requests); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(requests)), "ns/event")
}
