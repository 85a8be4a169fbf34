package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/lua/redistest"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
)

func TestWebhookLargerThanOneCallIsAdmittedInFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(nil, channel("a", &sink{}))
		receipt := b.admit(t, "a", 300)
		require.Equal(t, 300, receipt.Received)
		require.Equal(t, 300, receipt.Admitted)
		require.Len(t, receipt.Events, 300)
		require.Equal(t, "299", receipt.Events[299].ID)
		again := b.admit(t, "a", 300)
		require.Equal(t, 300, again.Duplicate)
	})
}

// failingLimiter fails from the second call on.
type failingLimiter struct {
	*memory.Store
	calls int
}

func (l *failingLimiter) Admit(ctx context.Context, s store.Channel, r []store.Request) (store.Answer, error) {
	if l.calls++; l.calls > 1 {
		return store.Answer{}, ratelimit.ErrUnavailable
	}
	return l.Store.Admit(ctx, s, r)
}

// The sender gets an error, and sends the webhook again.
func TestEventsStoredBeforeTheLimiterFailsAreCounted(t *testing.T) {
	t.Parallel()
	limiter := &failingLimiter{Store: memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})}
	ch := channel("a", &sink{})
	woken := 0
	registry := prometheus.NewRegistry()
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(registry), Wake: func(string) { woken++ },
	})
	all := make([]events.Event, 200)
	for i := range all {
		all[i] = events.Event{ID: fmt.Sprint(i), Source: "generic", Category: "c", Title: "x"}
	}
	_, err := intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: all})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.Equal(t, 1, woken)
	n, err := testutil.GatherAndCount(registry, "relay_events_received_total")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	report, err := limiter.Report(t.Context(), store.Channel{Group: "a", Name: "a"})
	require.NoError(t, err)
	require.Equal(t, int64(ratelimit.MaxBatch), report.Ledger.Received)
}

func TestWebhookIsAdmittedAlthoughItsSenderHangsUp(t *testing.T) {
	t.Parallel()
	limiter := redisstore.New(redistest.Start(t).Client(), redisstore.Options{})
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: []pipeline.Channel{channel("a", &sink{})},
		Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: func(string) {},
	})
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	all := []events.Event{{ID: "1", Category: "c", Title: "x"}}
	receipt, err := intake.Admit(gone, pipeline.Arrival{Channel: "a", Sender: "me", Events: all})
	require.NoError(t, err)
	require.Equal(t, 1, receipt.Admitted)
}

func TestUnknownChannelIsAnError(t *testing.T) {
	t.Parallel()
	b := setup(nil, channel("a", &sink{}))
	_, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "b", Sender: "me", Events: nil})
	require.ErrorIs(t, err, pipeline.ErrUnknownChannel)
	_, err = b.status.Channel(t.Context(), "b")
	require.ErrorIs(t, err, pipeline.ErrUnknownChannel)
}

func TestCategoryLabelsAreCapped(t *testing.T) {
	t.Parallel()
	ch := channel("a", &sink{})
	b := setup(nil, ch)
	for i := range 1100 {
		all := []events.Event{{ID: fmt.Sprint(i), Category: fmt.Sprint("c", i), Title: "x"}}
		_, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: all})
		require.NoError(t, err)
	}
	n, err := testutil.GatherAndCount(b.registry, "relay_events_total")
	require.NoError(t, err)
	require.Equal(t, 1000+1, n, "1,000 by name, and other")
}

// A channel whose series ended because it was idle counts from 0 when it is used again.
func TestSeriesThatEndedBeginsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		metrics := pipeline.NewMetrics(registry)
		metrics.Bound(pipeline.NewChannelLabels(1))
		intake := pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter:  memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}),
			Channels: []pipeline.Channel{channel("a", &sink{}), channel("b", &sink{})}, Metrics: metrics, Wake: func(string) {},
		})
		for i, name := range []string{"a", "a", "b", "a"} {
			_, err := intake.Admit(t.Context(), pipeline.Arrival{Channel: name, Events: []events.Event{{ID: fmt.Sprint(i), Source: "generic"}}})
			require.NoError(t, err)
			if i > 0 {
				time.Sleep(2 * time.Hour)
			}
		}
		require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP relay_events_received_total Events that were received and counted.
# TYPE relay_events_received_total counter
relay_events_received_total{channel="a",source="generic"} 1
`), "relay_events_received_total"))
	})
}
