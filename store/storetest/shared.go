package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

func Share(tb testing.TB, l interface{ store.Limiter }, opts replica.Options) *replica.Limiter {
	tb.Helper()
	if opts.Replica == "" {
		opts.Replica = "replica-1"
	}
	s := NewSharedOn(l, opts)
	tb.Cleanup(func() { _ = s.Close(context.Background()) }) //nolint:usetesting // the test's own has ended then
	return s
}

// counting counts the calls of each script.
type Counting struct {
	redis.Scripter
	Mu    sync.Mutex
	calls map[string]int
	Block chan struct{} // while it is set, a call waits until it is closed
	Held  chan struct{} // told of each call that waits
}

func (c *Counting) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	c.Mu.Lock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[sha]++
	block, held := c.Block, c.Held
	c.Mu.Unlock()
	if block != nil {
		held <- struct{}{}
		<-block
	}
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}

func (c *Counting) Of(script *redis.Script) int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.calls[script.Hash()]
}

func (c *Counting) Total() (n int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, calls := range c.calls {
		n += calls
	}
	return n
}

// compare runs the same requests on a limiter without and with the cache.
func (h *History) Compare(rt *rapid.T, plain, cached store.Limiter, c *Clock) (hits int) {
	for range rapid.IntRange(5, 40).Draw(rt, "steps") {
		c.Advance(rapid.SampledFrom([]time.Duration{
			0, 0, time.Microsecond, 90 * time.Millisecond, 137 * time.Millisecond, 499_999 * time.Microsecond, time.Second,
		}).Draw(rt, "pause"))
		batch := make([]store.Request, rapid.IntRange(1, 3).Draw(rt, "batch"))
		for i := range batch {
			batch[i] = h.request(rt)
			if h.world.fairness && i > 0 { // the cache marks attempts through folds, and so a little later
				batch[i].Category = batch[0].Category
				batch[i].Levels = batch[0].Levels
			}
		}
		want, err := plain.Admit(rt.Context(), h.scope, batch)
		require.NoError(rt, err)
		got, err := cached.Admit(rt.Context(), h.scope, batch)
		require.NoError(rt, err)
		for i := range batch {
			require.Equal(rt, want[i].Outcome == store.Admitted, got[i].Outcome == store.Admitted, "request %d: %v", i, got[i])
			if got[i].DecidedBy == store.ByClosedCache {
				hits++
				require.Contains(rt, []store.Outcome{store.Dropped, store.Duplicate, store.Never}, want[i].Outcome)
				if want[i].Outcome == store.Dropped {
					require.Subset(rt, want[i].Refused, got[i].Refused)
				}
			}
		}
		require.NoError(rt, cached.(*replica.Limiter).Flush(rt.Context()))
	}
	return hits
}
