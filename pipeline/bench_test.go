package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// BenchmarkRefusedWebhook measures a webhook in a storm: all of its events are refused by the closed-until cache. Compare the
// allocations; they do not depend on what else the machine does.
func BenchmarkRefusedWebhook(b *testing.B) {
	for _, n := range []int{1, 20} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) { benchWebhook(b, n) })
	}
}

func benchWebhook(b *testing.B, n int) {
	b.Helper()
	ch := channel("a", &sink{})
	ch.Handling = &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesPost, Digest: true, KeepDrops: 10}
	ch.Tiers = tiers(ratelimit.Window{Limit: 10, Per: time.Hour}, ratelimit.Window{Limit: 10, Per: time.Hour})
	limiter := replica.New(memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), replica.Options{Replica: "bench"})
	b.Cleanup(func() { limiter.Close(context.Background()) }) //nolint:usetesting // b.Context has ended by then
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: func(string) {},
	})
	all := make([]events.Event, n)
	b.ReportAllocs()
	next := 0
	for b.Loop() {
		for i := range all {
			next++
			all[i] = events.Event{
				ID: fmt.Sprint(next), Source: "generic", Category: "disk", Severity: events.Critical, Title: "Disk full on db-1",
				Text: "/var is at 100 %.", Status: events.Firing, Fingerprint: "db-1",
			}
		}
		if _, err := intake.Admit(b.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: all}); err != nil {
			b.Fatal(err)
		}
	}
}
