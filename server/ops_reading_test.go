package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
)

// breakReadings makes each reading of the channels from now on do something first.
func (m manyChannels) breakReadings(first func(ctx context.Context) error) {
	m.reads.first.Store(&first)
}

// slowly makes a reading take a time, or as long as it may.
func slowly(took time.Duration) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(took):
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ratelimit.ErrUnavailable, ctx.Err())
		}
	}
}

// answer is a reply of the ops listener, and how long it took.
type answer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

// ask makes a request, which the client ends after a time.
func (m manyChannels) ask(t *testing.T, path string, within time.Duration) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	began := time.Now()
	status, header, body := serve(m.Ops(), httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
	return answer{status, header, string(body), time.Since(began)}
}

func TestSlowReadingIsAnsweredWithTheLastOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := startMany(t, 200)
		require.Contains(t, m.ask(t, "/metrics", time.Minute).body, "\nrelay_status_age_seconds 0\n")
		m.breakReadings(slowly(15 * time.Second))
		time.Sleep(10 * time.Second)

		metrics := m.ask(t, "/metrics", time.Minute)
		require.Equal(t, http.StatusOK, metrics.status)
		require.Equal(t, 300*time.Millisecond, metrics.took)
		require.Contains(t, metrics.body, `relay_outbox_pending{channel="c007"} 5`)
		require.Contains(t, metrics.body, "\nrelay_status_age_seconds 10.3\n")
		require.Contains(t, metrics.body, "\nrelay_redis_up 1\n")

		list := m.ask(t, "/api/v1/channels?name=c007", time.Minute)
		require.Equal(t, http.StatusOK, list.status)
		require.Equal(t, 100*time.Millisecond, list.took)
		require.Equal(t, "10", list.header.Get("Age"))
		require.Contains(t, list.body, `"pending":5`)

		stream := m.ask(t, "/api/v1/stream?name=c007", 500*time.Millisecond)
		require.Contains(t, stream.body, `"pending":5`)
		require.NotContains(t, stream.body, "old data")

		time.Sleep(15 * time.Second) // the reading is made, once for all
		require.Contains(t, m.ask(t, "/metrics", time.Minute).body, "\nrelay_status_age_seconds 15.")
		require.Equal(t, 400, m.reads.channels)
	})
}

func TestFirstReadingThatIsSlowIsWaitedForInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := startMany(t, 200)
		m.breakReadings(slowly(20 * time.Second))
		metrics := m.ask(t, "/metrics", time.Minute)
		require.Equal(t, http.StatusOK, metrics.status)
		require.Equal(t, time.Second, metrics.took)
		require.NotContains(t, metrics.body, "relay_outbox_pending")
		require.NotContains(t, metrics.body, "relay_status_age_seconds")
		list := m.ask(t, "/api/v1/channels", time.Minute)
		require.Equal(t, http.StatusServiceUnavailable, list.status)
		require.Equal(t, 5*time.Second, list.took)
		require.Contains(t, list.body, `"code":"unavailable"`)
		stream := m.ask(t, "/api/v1/stream", 8*time.Second)
		require.Contains(t, stream.body, "the channels cannot be read")
		time.Sleep(10 * time.Second)
		require.Contains(t, m.ask(t, "/metrics", time.Minute).body, `relay_outbox_pending{channel="c007"} 5`)
	})
}

func TestReadingThatFailsIsReportedAndTheMetricsShowTheLastOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := startMany(t, 200)
		m.list(t, "")
		m.breakReadings(func(context.Context) error { return fmt.Errorf("%w: connection refused", ratelimit.ErrUnavailable) })
		time.Sleep(30 * time.Second)

		metrics := m.ask(t, "/metrics", time.Minute)
		require.Equal(t, http.StatusOK, metrics.status)
		require.Zero(t, metrics.took)
		require.Contains(t, metrics.body, `relay_outbox_pending{channel="c007"} 5`)
		require.Contains(t, metrics.body, "\nrelay_status_age_seconds 30\n", "an alert can notice it")

		list := m.ask(t, "/api/v1/channels", time.Minute)
		require.Equal(t, http.StatusOK, list.status, "the last reading serves for a minute")
		require.Contains(t, list.body, `"pending":5`)

		stream := m.ask(t, "/api/v1/stream?name=c007", 500*time.Millisecond)
		require.Contains(t, stream.body, "the channels cannot be read, so this page shows old data")
		require.Contains(t, stream.body, `"pending":5`)

		m.breakReadings(func(context.Context) error { return nil })
		require.Equal(t, http.StatusOK, m.ask(t, "/api/v1/channels", time.Minute).status)
		require.Contains(t, m.ask(t, "/metrics", time.Minute).body, "\nrelay_status_age_seconds 0\n")
	})
}
