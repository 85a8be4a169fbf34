package replica_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// Whatever the strategy and the fairness, and whenever Redis is asked: what is admitted is the same with the
// closed cache and without.
func TestClosedCacheAdmitsWhatTheStoreAloneAdmits(t *testing.T) {
	t.Parallel()
	for kind, w := range storetest.Worlds {
		if strings.HasPrefix(kind, "backlog") {
			continue // a backlog shrinks at any time; its refusals are believed for a moment only
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			histories, hits := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				histories++
				c := &storetest.Clock{T: storetest.StartTime}
				engine := func() *memory.Store {
					return memory.New(memory.NewData(memory.DataOptions{Now: c.Now}), memory.Options{})
				}
				cached := storetest.Share(t, engine(), replica.Options{Now: c.Now, MaxStale: time.Hour})
				hits += storetest.NewHistory(rt, w, "group", storetest.Fixture{Clock: c.Now}).Compare(rt, engine(), cached, c)
			})
			require.Positive(t, hits, "the cache was asked")
		})
	}
}

// Once the channel is full, a storm costs Redis a few calls a second, and every event is counted in the end.
func TestStormCallsRedisAFewTimesASecond(t *testing.T) {
	t.Parallel()
	scripter := &storetest.Counting{Scripter: redistest.Start(t).Client()}
	s := storetest.Share(t, redisstore.New(scripter, redisstore.Options{}), replica.Options{})
	l := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(10)}
	begin := time.Now()
	events, cached := 0, 0
	for time.Since(begin) < 2*time.Second {
		for c := range 20 {
			answer, err := s.Admit(t.Context(), storetest.Scope, []store.Request{l.Request(fmt.Sprint("id", events), fmt.Sprint("c", c))})
			require.NoError(t, err)
			events++
			if answer.Decisions[0].DecidedBy == store.ByClosedCache {
				cached++
				require.NotEmpty(t, answer.Decisions[0].Level)
				require.Positive(t, answer.Decisions[0].RetryAfter)
			}
		}
	}
	calls := scripter.Total()
	require.NoError(t, s.Close(t.Context()))
	t.Logf("%d events, %d of them without Redis; %d calls in 2 s after the first 100 admissions", events, cached, calls-100)
	require.LessOrEqual(t, calls, 100+1+2*5+5, "the limit, the first refusal, 5 calls a second, and what a busy machine is late by")
	require.GreaterOrEqual(t, cached, events-calls, "an event needs Redis once at most")
	require.Positive(t, cached)
	report, err := redisstore.New(scripter, redisstore.Options{}).Report(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Equal(t, store.Ledger{Received: int64(events), Admitted: 100, Dropped: int64(events - 100), Pending: 100}, report.Ledger)
}

// However many replicas there are, a storming channel costs Redis at most 20 calls a second.
func TestStormOverManyReplicasCallsRedisAtMostTwentyTimesASecond(t *testing.T) {
	t.Parallel()
	scripter := &storetest.Counting{Scripter: redistest.Start(t).Client()}
	const replicas = 12
	l := storetest.Limits{Channel: storetest.PerMinute(20), Category: storetest.PerMinute(10)}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var limiters []*replica.Limiter
	for i := range replicas {
		limiters = append(limiters, storetest.Share(t, redisstore.New(scripter, redisstore.Options{}), replica.Options{
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
			request := l.Request(fmt.Sprintf("%d-%d", i, n), fmt.Sprint("c", n%4))
			_, err := limiters[i].Admit(context.WithoutCancel(ctx), storetest.Scope, []store.Request{request})
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
	before := scripter.Total()
	settled.Reset(6 * time.Second) // two refreshes of each
	<-settled.C
	calls := scripter.Total() - before
	cancel()
	all.Wait()
	t.Logf("%d calls in 6 s, over %d replicas", calls, replicas)
	require.LessOrEqual(t, calls, 6*20+replicas, "20 a second, and one more of each at the edges")
}

// A batch of counts whose answer is lost is sent again, and counts once.
func TestCountsWhoseMergeGotNoAnswerAreCountedOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var deaf atomic.Bool
	s := storetest.Share(t, redisstore.New(storetest.DeafClient(t, server, &deaf), redisstore.Options{}),
		replica.Options{MergeEvery: time.Hour, MaxStale: time.Minute})
	hearing := storetest.Fixture{Limiter: redisstore.New(server.Client(), redisstore.Options{})}
	admit := func(id string) store.Decision {
		answer, err := s.Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request(id, "a")})
		require.NoError(t, err)
		return answer.Decisions[0]
	}
	for i := range 10 {
		admit(fmt.Sprint(i))
	}
	require.Equal(t, store.ByClosedCache, admit("x").DecidedBy)
	require.NoError(t, s.Flush(t.Context())) // so that EVALSHA knows the script
	before := hearing.MustReport(t).Ledger
	admit("y")
	deaf.Store(true)
	require.ErrorIs(t, s.Flush(t.Context()), ratelimit.ErrUnavailable)
	require.Eventually(t, func() bool { return hearing.MustReport(t).Ledger.Received == before.Received+1 }, 5*time.Second, time.Millisecond)
	deaf.Store(false)
	admit("z")
	require.NoError(t, s.Flush(t.Context()))
	require.Equal(t, before.Received+2, hearing.MustReport(t).Ledger.Received)
	require.Zero(t, hearing.MustReport(t).Ledger.Imbalance())
	counts, err := hearing.Categories(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Equal(t, []store.CategoryCounts{{Category: "a", Admitted: 3, Dropped: 10}}, counts)
}

// A changed limit is not refused by what the old one left in the closed cache.
func TestRaisedLimitIsNotRefusedByTheClosedCache(t *testing.T) {
	t.Parallel()
	s := storetest.Share(t, memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), replica.Options{MaxStale: time.Hour})
	b := storetest.Fixture{Limiter: s}
	old := storetest.Limits{Channel: storetest.PerMinute(10), Category: storetest.PerMinute(1)}
	require.Equal(t, "+-", storetest.Outcomes(b.MustAdmit(t, old.Request("1", "a"), old.Request("2", "a"))))
	require.Equal(t, store.ByClosedCache, b.AdmitOne(t, old.Request("3", "a")).DecidedBy)
	raised := storetest.Limits{Channel: storetest.PerMinute(10), Category: storetest.PerMinute(2)}
	require.Equal(t, "+", storetest.Outcomes(b.MustAdmit(t, raised.Request("4", "a"))))
	require.Equal(t, "-", storetest.Outcomes(b.MustAdmit(t, old.Request("5", "a"))))
	require.NoError(t, s.Reset(t.Context(), storetest.Scope, old.Request("", "a").Levels[1]))
	require.Equal(t, "+", storetest.Outcomes(b.MustAdmit(t, old.Request("6", "a"))), "a reset empties the cache")
}

// Requests that arrive during a call share the next one; on an idle channel nothing waits.
func TestRequestsThatArriveDuringACallShareTheNext(t *testing.T) {
	t.Parallel()
	scripter := &storetest.Counting{Scripter: redistest.Start(t).Client()}
	s := storetest.Share(t, redisstore.New(scripter, redisstore.Options{}), replica.Options{CallTimeout: time.Minute})
	l := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(100)}
	admit := func(id string) error {
		answer, err := s.Admit(t.Context(), storetest.Scope, []store.Request{l.Request(id, "a")})
		if err == nil && answer.Decisions[0].Outcome != store.Admitted {
			err = fmt.Errorf("%s: %s", id, answer.Decisions[0].Outcome)
		}
		return err
	}
	require.NoError(t, admit("warm"))
	require.Equal(t, 1, scripter.Of(lua.Admit), "nothing waits on an idle channel")

	scripter.Mu.Lock()
	scripter.Block, scripter.Held = make(chan struct{}), make(chan struct{}, 10)
	scripter.Mu.Unlock()
	errs := make(chan error, 51)
	go func() { errs <- admit("first") }()
	<-scripter.Held
	for i := range 50 {
		go func() { errs <- admit(fmt.Sprint("second", i)) }()
	}
	require.Eventually(t, func() bool { return replica.Waiting(s, storetest.Scope) == 50 }, 5*time.Second, time.Millisecond)
	scripter.Mu.Lock()
	close(scripter.Block)
	scripter.Block = nil
	scripter.Mu.Unlock()
	for range 51 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 3, scripter.Of(lua.Admit), "one that warmed up, the first, and the other 50 together")
}

// The request of a caller that left may have been admitted, so that its repeat asks Redis though the level is closed.
func TestRepeatOfARequestWhoseCallerLeftAsksTheStore(t *testing.T) {
	t.Parallel()
	scripter := &storetest.Counting{Scripter: redistest.Start(t).Client()}
	s := storetest.Share(t, redisstore.New(scripter, redisstore.Options{}), replica.Options{CallTimeout: time.Minute, MaxStale: time.Minute})
	b := storetest.Fixture{Limiter: s}
	l := storetest.Limits{Channel: storetest.PerMinute(9), Category: storetest.PerMinute(2)}
	b.MustAdmit(t, l.Request("1", "a"))
	scripter.Mu.Lock()
	scripter.Block, scripter.Held = make(chan struct{}), make(chan struct{}, 10)
	scripter.Mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.Admit(ctx, storetest.Scope, []store.Request{l.Request("2", "a")})
		left <- err
	}()
	<-scripter.Held
	cancel()
	require.ErrorIs(t, <-left, ratelimit.ErrUnavailable)
	scripter.Mu.Lock()
	close(scripter.Block)
	scripter.Block = nil
	scripter.Mu.Unlock()
	closed := func() bool { return b.AdmitOne(t, l.Request("3", "a")).DecidedBy == store.ByClosedCache }
	require.Eventually(t, closed, 5*time.Second, time.Millisecond)
	require.Equal(t, store.Duplicate, b.AdmitOne(t, l.Request("2", "a")).Outcome, "it had been admitted, and the level is closed")
}

// A caller waits for the store as long as MaxWait allows, whatever its context allows.
func TestCallersWaitAsLongAsMaxWait(t *testing.T) {
	t.Parallel()
	scripter := &storetest.Counting{Scripter: redistest.Start(t).Client()}
	s := storetest.Share(t, redisstore.New(scripter, redisstore.Options{}), replica.Options{
		CallTimeout: time.Minute, MaxWait: time.Millisecond,
	})
	l := storetest.Limits{Channel: storetest.PerMinute(9), Category: storetest.PerMinute(9)}
	scripter.Mu.Lock()
	scripter.Block, scripter.Held = make(chan struct{}), make(chan struct{}, 10)
	scripter.Mu.Unlock()
	defer close(scripter.Block)
	_, err := s.Admit(t.Context(), storetest.Scope, []store.Request{l.Request("1", "a")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
}

// The limits are divided among live replicas: one that ends is forgotten at once, and lost data is noticed.
func TestReplicasCountAsLongAsTheyLive(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	var all []*replica.Limiter
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range 6 {
		s := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{
			Replica: fmt.Sprint("replica-", i), Heartbeat: 50 * time.Millisecond,
		})
		running.Go(func() { s.Run(ctx) })
		all = append(all, s)
	}
	awaitReplicas := func(n int64) {
		require.Eventually(t, func() bool {
			return all[0].Health().Replicas == n && all[1].Health().Replicas == n
		}, 10*time.Second, 5*time.Millisecond)
	}
	awaitReplicas(6)
	require.Equal(t, 1500*time.Millisecond, replica.Stretch(all[0], time.Second), "six replicas ask as often as four would")
	cancel()
	running.Wait()
	require.NoError(t, all[5].Close(t.Context()))
	alive := client.ZCard(t.Context(), lua.Alive).Val()
	require.LessOrEqual(t, alive, int64(5), "one that ends announces it")
	require.NoError(t, client.FlushAll(t.Context()).Err())
	lost := all[0].Health().StateLost
	ctx, cancel = context.WithCancel(t.Context())
	running.Go(func() { all[0].Run(ctx) })
	require.Eventually(t, func() bool { return all[0].Health().StateLost == lost+1 }, 5*time.Second, 5*time.Millisecond)
	cancel()
	running.Wait()
}
