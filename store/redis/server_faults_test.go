package redis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// A server that hangs for a moment: the call ends in time, its result is unknown, and its repeat is charged once.
func TestCallToAServerThatHangsEndsInTimeAndIsChargedOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := storetest.Fixture{Limiter: redisstore.New(server.Client(), redisstore.Options{})}
	b.MustAdmit(t, storetest.Small.Request("0", "a"))
	require.NoError(t, server.Client().Do(t.Context(), "client", "pause", 300).Err())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := b.Admit(ctx, storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.Less(t, time.Since(begin), 250*time.Millisecond, "the deadline is kept")
	require.Eventually(t, func() bool { // the call was on its way, and is carried out in the end
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		answer, err := b.Admit(ctx, storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
		return err == nil && answer.Decisions[0].Outcome == store.Duplicate
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(2), b.Used(t, storetest.Small.Request("", "a").Levels[0]))
}

// A server without memory refuses before anything is written.
func TestFullServerRefusesBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	line := lua.NewConn(client, 0)
	b := storetest.Fixture{Limiter: redisstore.New(line, redisstore.Options{})}
	b.MustAdmit(t, storetest.Small.Request("0", "a"))
	before, err := redistest.Dump(t.Context(), client, "*")
	require.NoError(t, err)
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err = b.Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a"), storetest.Small.Request("2", "b")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.ErrorContains(t, err, "OOM")
	after, err := redistest.Dump(t.Context(), client, "*")
	require.NoError(t, err)
	require.Equal(t, before, after)
	s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
		Replicas: 1, Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyLocal},
	})
	answer, err := s.Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("3", "a")})
	require.NoError(t, err)
	require.Equal(t, store.ByFallback, answer.Decisions[0].DecidedBy, "it certainly has nothing, so that the policy decides")
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.Equal(t, "++", storetest.Outcomes(b.MustAdmit(t, storetest.Small.Request("1", "a"), storetest.Small.Request("2", "b"))))
}

// Scripts are flushed all the time, and every call is carried out once.
func TestEveryCallIsCarriedOutOnceWhileScriptsAreFlushed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	var flushing sync.WaitGroup
	flushing.Go(func() {
		for ctx.Err() == nil {
			server.Client().ScriptFlush(context.WithoutCancel(ctx))
		}
	})
	l := redisstore.New(lua.NewConn(server.Client(), 0), redisstore.Options{})
	require.Equal(t, 100, storetest.Hammer(t.Context(), t, l, 8, 60))
	cancel()
	flushing.Wait()
	report, err := l.Report(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Equal(t, store.Ledger{Received: 480, Admitted: 100, Dropped: 380, Pending: 100}, report.Ledger)
}
