package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
)

// Queue is [Scope].
var Queue = Scope

// NewSharedOn makes the limiter of a replica in front of a store.
func NewSharedOn(l Limiter, opts replica.Options) *replica.Limiter {
	s, ok := l.(replica.Store)
	if !ok {
		panic("not a store of replicas")
	}
	if opts.Fallback == nil {
		opts.Fallback = memory.New(memory.NewData(memory.DataOptions{}), memory.Options{
			Options: store.Options{Dedupe: opts.Dedupe}, DecidedBy: store.ByFallback,
		})
	}
	return replica.New(s, opts)
}

// Share is [NewSharedOn] for a test: it is closed at its end.
func Share(tb testing.TB, l Limiter, opts replica.Options) *replica.Limiter {
	tb.Helper()
	if opts.Replica == "" {
		opts.Replica = "replica-1"
	}
	s := NewSharedOn(l, opts)
	tb.Cleanup(func() { _ = s.Close(context.Background()) }) //nolint:usetesting // the test's own has ended then
	return s
}

// ReplicasOn makes replicas that share one server, each with a connection that can be cut.
func ReplicasOn(t *testing.T, n int, policy replica.Policy) (client *redis.Client, lines []*Away, all []Fixture) {
	t.Helper()
	client = redistest.Start(t).Client()
	for i := range n {
		line := &Away{Scripter: client}
		s := Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
			Replica: fmt.Sprint("replica-", i), Replicas: n, Policies: map[string]replica.Policy{Scope.Name: policy},
			ProbeEvery: 20 * time.Millisecond,
		})
		lines, all = append(lines, line), append(all, Fixture{Limiter: s})
	}
	return client, lines, all
}

// Admitted is how many of n requests are admitted.
func (b Fixture) Admitted(t *testing.T, l Limits, prefix string, n int) (admitted int) {
	t.Helper()
	for i := range n {
		if b.AdmitOne(t, l.Request(fmt.Sprint(prefix, i), "a")).Outcome == store.Admitted {
			admitted++
		}
	}
	return admitted
}

// Compare runs the same requests on a limiter without and with the closed cache.
func (h *History) Compare(rt *rapid.T, plain, cached Limiter, c *Clock) (hits int) {
	for range rapid.IntRange(5, 40).Draw(rt, "steps") {
		c.Advance(rapid.SampledFrom([]time.Duration{
			0, 0, time.Microsecond, 90 * time.Millisecond, 137 * time.Millisecond, 499_999 * time.Microsecond, time.Second,
		}).Draw(rt, "pause"))
		batch := make([]store.Request, rapid.IntRange(1, 3).Draw(rt, "batch"))
		for i := range batch {
			batch[i] = h.request(rt)
			if h.World.fairness && i > 0 { // the cache reports attempts with its merged counts, and so a little later
				batch[i].Category = batch[0].Category
				batch[i].Levels = batch[0].Levels
			}
		}
		want, err := plain.Admit(rt.Context(), h.scope, batch)
		require.NoError(rt, err)
		got, err := cached.Admit(rt.Context(), h.scope, batch)
		require.NoError(rt, err)
		for i := range batch {
			d := got.Decisions[i]
			require.Equal(rt, want.Decisions[i].Outcome == store.Admitted, d.Outcome == store.Admitted, "request %d: %v", i, d)
			if got.Decisions[i].DecidedBy == store.ByClosedCache {
				hits++
				require.Contains(rt, []store.Outcome{store.Dropped, store.Duplicate, store.Never}, want.Decisions[i].Outcome)
				if want.Decisions[i].Outcome == store.Dropped {
					require.Subset(rt, want.Decisions[i].Refused, got.Decisions[i].Refused)
				}
			}
		}
		require.NoError(rt, cached.(*replica.Limiter).Flush(rt.Context()))
	}
	return hits
}

// Outcomes that tests of replicas name.
const (
	Admitted   = store.Admitted
	Dropped    = store.Dropped
	Merged     = store.Merged
	Delayed    = store.Delayed
	Suppressed = store.Suppressed
	Full       = store.Full
)
