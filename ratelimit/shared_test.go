package ratelimit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

func share(tb testing.TB, l interface{ ratelimit.Limiter }, opts ratelimit.SharedOptions) *ratelimit.Shared {
	tb.Helper()
	if opts.Replica == "" {
		opts.Replica = "replica-1"
	}
	s := ratelimit.NewSharedOn(l, opts)
	tb.Cleanup(func() { _ = s.Close(context.Background()) }) //nolint:usetesting // the test's own has ended then
	return s
}

// counting counts the calls of each script.
type counting struct {
	redis.Scripter
	mu    sync.Mutex
	calls map[string]int
	block chan struct{} // while it is set, a call waits until it is closed
	held  chan struct{} // told of each call that waits
}

func (c *counting) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	c.mu.Lock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[sha]++
	block, held := c.block, c.held
	c.mu.Unlock()
	if block != nil {
		held <- struct{}{}
		<-block
	}
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}

func (c *counting) of(script *redis.Script) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[script.Hash()]
}

func (c *counting) total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, calls := range c.calls {
		n += calls
	}
	return n
}

// Whatever the strategy and the fairness, and whenever Redis is asked: what is admitted is the same with the
// closed-until cache and without.
func TestTheCacheChangesNothing(t *testing.T) {
	t.Parallel()
	for kind, w := range worlds {
		if strings.HasPrefix(kind, "backlog") {
			continue // a backlog shrinks at any time; its refusals are believed for a moment only
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			histories, hits := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				histories++
				c := &clock{now: start}
				engine := func() *ratelimit.Memory {
					return ratelimit.NewMemory(memstore.New(memstore.Options{Now: c.Now}), 0)
				}
				cached := share(t, engine(), ratelimit.SharedOptions{Now: c.Now, MaxStale: time.Hour})
				hits += newHistory(rt, w, "group", bundle{clock: c.Now}).compare(rt, engine(), cached, c)
			})
			require.Positive(t, hits, "the cache was asked")
		})
	}
}

// compare runs the same requests on a limiter without and with the cache.
func (h *history) compare(rt *rapid.T, plain, cached ratelimit.Limiter, c *clock) (hits int) {
	for range rapid.IntRange(5, 40).Draw(rt, "steps") {
		c.Advance(rapid.SampledFrom([]time.Duration{
			0, 0, time.Microsecond, 90 * time.Millisecond, 137 * time.Millisecond, 499_999 * time.Microsecond, time.Second,
		}).Draw(rt, "pause"))
		batch := make([]ratelimit.Request, rapid.IntRange(1, 3).Draw(rt, "batch"))
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
			require.Equal(rt, want[i].Outcome == ratelimit.Admitted, got[i].Outcome == ratelimit.Admitted, "request %d: %v", i, got[i])
			if got[i].DecidedBy == ratelimit.ByClosedCache {
				hits++
				require.Contains(rt, []ratelimit.Outcome{ratelimit.Dropped, ratelimit.Duplicate, ratelimit.Never}, want[i].Outcome)
				if want[i].Outcome == ratelimit.Dropped {
					require.Subset(rt, want[i].Refused, got[i].Refused)
				}
			}
		}
		require.NoError(rt, cached.(*ratelimit.Shared).Flush(rt.Context()))
	}
	return hits
}

func TestAStormCostsRedisNearlyNothing(t *testing.T) {
	t.Parallel()
	scripter := &counting{Scripter: redistest.Start(t).Client()}
	s := share(t, ratelimit.NewRedis(scripter, ratelimit.RedisOptions{}), ratelimit.SharedOptions{})
	l := limits{channel: perMinute(100), category: perMinute(10)}
	begin, events, cached := time.Now(), 0, 0
	for time.Since(begin) < 2*time.Second {
		for c := range 20 {
			d, err := s.Admit(t.Context(), scope, []ratelimit.Request{l.request(fmt.Sprint("id", events), fmt.Sprint("c", c))})
			require.NoError(t, err)
			events++
			if d[0].DecidedBy == ratelimit.ByClosedCache {
				cached++
				require.NotEmpty(t, d[0].Level)
				require.Positive(t, d[0].RetryAfter)
			}
		}
	}
	calls := scripter.total()
	require.NoError(t, s.Close(t.Context()))
	t.Logf("%d events, %d of them without Redis; %d calls in 2 s after the first 100 admissions", events, cached, calls-100)
	require.LessOrEqual(t, calls, 100+1+2*5+5, "the limit, the first refusal, 5 calls a second, and what a busy machine is late by")
	require.Greater(t, cached, events*9/10)
	report, err := ratelimit.NewRedis(scripter, ratelimit.RedisOptions{}).Report(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, ratelimit.Ledger{Received: int64(events), Admitted: 100, Dropped: int64(events - 100), Pending: 100}, report.Ledger)
}

// However many replicas there are, a storming channel costs Redis at most 20 calls a second.
func TestAStormOverManyReplicas(t *testing.T) {
	t.Parallel()
	scripter := &counting{Scripter: redistest.Start(t).Client()}
	const replicas = 12
	l := limits{channel: perMinute(20), category: perMinute(10)}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var sharers []*ratelimit.Shared
	for i := range replicas {
		sharers = append(sharers, share(t, ratelimit.NewRedis(scripter, ratelimit.RedisOptions{}), ratelimit.SharedOptions{
			Replica: fmt.Sprint("replica-", i), Replicas: replicas,
		}))
	}
	storm := func(i int, until <-chan struct{}) {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-until:
				return
			case <-ticker.C:
			}
			_, err := sharers[i].Admit(context.WithoutCancel(ctx), scope, []ratelimit.Request{l.request(fmt.Sprintf("%d-%d", i, n), fmt.Sprint("c", n%4))})
			if err != nil {
				t.Error(err)
				return
			}
		}
	}
	for i := range replicas {
		all.Go(func() { storm(i, ctx.Done()) })
	}
	settled := time.NewTimer(4 * time.Second) // the first calls come all at once; after one stretched second they are spread
	<-settled.C
	before := scripter.total()
	settled.Reset(6 * time.Second) // two refreshes of each
	<-settled.C
	calls := scripter.total() - before
	cancel()
	all.Wait()
	t.Logf("%d calls in 6 s, over %d replicas", calls, replicas)
	require.LessOrEqual(t, calls, 6*20+replicas, "20 a second, and one more of each at the edges")
}

// A fold whose answer is lost is sent again, and counts once.
func TestFoldsCountOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var ears atomic.Bool
	s := share(t, ratelimit.NewRedis(deafClient(t, server, &ears), ratelimit.RedisOptions{}),
		ratelimit.SharedOptions{FoldEvery: time.Hour, MaxStale: time.Minute})
	hearing := bundle{Limiter: ratelimit.NewRedis(server.Client(), ratelimit.RedisOptions{})}
	admit := func(id string) ratelimit.Decision {
		d, err := s.Admit(t.Context(), scope, []ratelimit.Request{small.request(id, "a")})
		require.NoError(t, err)
		return d[0]
	}
	for i := range 10 {
		admit(fmt.Sprint(i))
	}
	require.Equal(t, ratelimit.ByClosedCache, admit("x").DecidedBy)
	require.NoError(t, s.Flush(t.Context())) // so that EVALSHA knows the script
	before := hearing.report(t).Ledger
	admit("y")
	ears.Store(true)
	require.ErrorIs(t, s.Flush(t.Context()), ratelimit.ErrUnavailable)
	require.Eventually(t, func() bool { return hearing.report(t).Ledger.Received == before.Received+1 }, 5*time.Second, time.Millisecond)
	ears.Store(false)
	admit("z")
	require.NoError(t, s.Flush(t.Context()))
	require.Equal(t, before.Received+2, hearing.report(t).Ledger.Received)
	require.Zero(t, hearing.report(t).Ledger.Imbalance())
	counts, err := hearing.Categories(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, []ratelimit.CategoryCounts{{Category: "a", Admitted: 3, Dropped: 10}}, counts)
}

// A changed limit is not refused by what the old one left in the cache.
func TestARaisedLimitIsNoticed(t *testing.T) {
	t.Parallel()
	s := share(t, ratelimit.NewMemory(memstore.New(memstore.Options{}), 0), ratelimit.SharedOptions{MaxStale: time.Hour})
	b := bundle{Limiter: s}
	old := limits{channel: perMinute(10), category: perMinute(1)}
	require.Equal(t, "+-", outcomes(b.admit(t, old.request("1", "a"), old.request("2", "a"))))
	require.Equal(t, ratelimit.ByClosedCache, b.one(t, old.request("3", "a")).DecidedBy)
	raised := limits{channel: perMinute(10), category: perMinute(2)}
	require.Equal(t, "+", outcomes(b.admit(t, raised.request("4", "a"))))
	require.Equal(t, "-", outcomes(b.admit(t, old.request("5", "a"))))
	require.NoError(t, s.Reset(t.Context(), old.request("", "a").Levels[1]))
	require.Equal(t, "+", outcomes(b.admit(t, old.request("6", "a"))), "a reset empties the cache")
}

func TestConcurrentCallsAreCoalesced(t *testing.T) {
	t.Parallel()
	scripter := &counting{Scripter: redistest.Start(t).Client()}
	s := share(t, ratelimit.NewRedis(scripter, ratelimit.RedisOptions{}), ratelimit.SharedOptions{CallTimeout: time.Minute})
	l := limits{channel: perMinute(100), category: perMinute(100)}
	admit := func(id string) error {
		d, err := s.Admit(t.Context(), scope, []ratelimit.Request{l.request(id, "a")})
		if err == nil && d[0].Outcome != ratelimit.Admitted {
			err = fmt.Errorf("%s: %s", id, d[0].Outcome)
		}
		return err
	}
	require.NoError(t, admit("warm"))
	require.Equal(t, 1, scripter.of(lua.Admit), "an idle channel waits for nobody")

	scripter.mu.Lock()
	scripter.block, scripter.held = make(chan struct{}), make(chan struct{}, 10)
	scripter.mu.Unlock()
	errs := make(chan error, 51)
	go func() { errs <- admit("first") }()
	<-scripter.held
	for i := range 50 {
		go func() { errs <- admit(fmt.Sprint("second", i)) }()
	}
	require.Eventually(t, func() bool { return ratelimit.Waiting(s, scope) == 50 }, 5*time.Second, time.Millisecond)
	scripter.mu.Lock()
	close(scripter.block)
	scripter.block = nil
	scripter.mu.Unlock()
	for range 51 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 3, scripter.of(lua.Admit), "one that warmed up, the first, and the other 50 together")
}

// A caller that leaves gets no answer; its request may have been admitted, so that a repeat asks Redis itself.
func TestACallerThatLeaves(t *testing.T) {
	t.Parallel()
	scripter := &counting{Scripter: redistest.Start(t).Client()}
	s := share(t, ratelimit.NewRedis(scripter, ratelimit.RedisOptions{}), ratelimit.SharedOptions{CallTimeout: time.Minute, MaxStale: time.Minute})
	b := bundle{Limiter: s}
	l := limits{channel: perMinute(9), category: perMinute(2)}
	b.admit(t, l.request("1", "a"))
	scripter.mu.Lock()
	scripter.block, scripter.held = make(chan struct{}), make(chan struct{}, 10)
	scripter.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.Admit(ctx, scope, []ratelimit.Request{l.request("2", "a")})
		left <- err
	}()
	<-scripter.held
	cancel()
	require.ErrorIs(t, <-left, ratelimit.ErrUnavailable)
	scripter.mu.Lock()
	close(scripter.block)
	scripter.block = nil
	scripter.mu.Unlock()
	require.Eventually(t, func() bool { return b.one(t, l.request("3", "a")).DecidedBy == ratelimit.ByClosedCache }, 5*time.Second, time.Millisecond)
	require.Equal(t, ratelimit.Duplicate, b.one(t, l.request("2", "a")).Outcome, "it had been admitted, and the level is closed")
}

func TestReplicasAreHeardAndForgotten(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	var all []*ratelimit.Shared
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range 6 {
		s := share(t, ratelimit.NewRedis(client, ratelimit.RedisOptions{}), ratelimit.SharedOptions{
			Replica: fmt.Sprint("replica-", i), Heartbeat: 50 * time.Millisecond,
		})
		running.Go(func() { s.Run(ctx) })
		all = append(all, s)
	}
	heard := func(n int64) {
		require.Eventually(t, func() bool {
			return all[0].Health().Replicas == n && all[1].Health().Replicas == n
		}, 10*time.Second, 5*time.Millisecond)
	}
	heard(6)
	require.Equal(t, 1500*time.Millisecond, ratelimit.Stretch(all[0], time.Second), "six replicas ask as often as four would")
	cancel()
	running.Wait()
	require.NoError(t, all[5].Close(t.Context()))
	alive := client.ZCard(t.Context(), lua.Alive).Val()
	require.LessOrEqual(t, alive, int64(5), "who ends says so")
	require.NoError(t, client.FlushAll(t.Context()).Err())
	lost := all[0].Health().StateLost
	ctx, cancel = context.WithCancel(t.Context())
	running.Go(func() { all[0].Run(ctx) })
	require.Eventually(t, func() bool { return all[0].Health().StateLost == lost+1 }, 5*time.Second, 5*time.Millisecond)
	cancel()
	running.Wait()
}
