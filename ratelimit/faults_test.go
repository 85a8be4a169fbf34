package ratelimit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

// A server that hangs for a moment: the call ends in time, nobody knows what became of it, and its repeat is
// charged once.
func TestAServerThatHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := bundle{Limiter: ratelimit.NewRedis(server.Client(), ratelimit.RedisOptions{})}
	b.admit(t, small.request("0", "a"))
	require.NoError(t, server.Client().Do(t.Context(), "client", "pause", 300).Err())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := b.Admit(ctx, scope, []ratelimit.Request{small.request("1", "a")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.Less(t, time.Since(begin), 250*time.Millisecond, "the deadline is kept")
	require.Eventually(t, func() bool { // the call was on its way, and is carried out in the end
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d, err := b.Admit(ctx, scope, []ratelimit.Request{small.request("1", "a")})
		return err == nil && d[0].Outcome == ratelimit.Duplicate
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(2), b.used(t, small.request("", "a").Levels[0]))
}

// A server without memory refuses before anything is written.
func TestAServerThatIsFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	line := lua.NewConn(client, 0)
	b := bundle{Limiter: ratelimit.NewRedis(line, ratelimit.RedisOptions{})}
	b.admit(t, small.request("0", "a"))
	before, err := redistest.Dump(t.Context(), client, "*")
	require.NoError(t, err)
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err = b.Admit(t.Context(), scope, []ratelimit.Request{small.request("1", "a"), small.request("2", "b")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.ErrorContains(t, err, "OOM")
	after, err := redistest.Dump(t.Context(), client, "*")
	require.NoError(t, err)
	require.Equal(t, before, after)
	s := share(t, ratelimit.NewRedis(line, ratelimit.RedisOptions{}), ratelimit.SharedOptions{
		Replicas: 1, Policies: map[string]ratelimit.Policy{scope.Channel: ratelimit.PolicyLocal},
	})
	d, err := s.Admit(t.Context(), scope, []ratelimit.Request{small.request("3", "a")})
	require.NoError(t, err)
	require.Equal(t, ratelimit.ByFallback, d[0].DecidedBy, "it certainly has nothing, so that the policy decides")
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.Equal(t, "++", outcomes(b.admit(t, small.request("1", "a"), small.request("2", "b"))))
}

// Scripts are flushed all the time, and every call is carried out once.
func TestFlushesUnderLoad(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	var flushing sync.WaitGroup
	flushing.Go(func() {
		for ctx.Err() == nil {
			server.Client().ScriptFlush(context.WithoutCancel(ctx))
		}
	})
	l := ratelimit.NewRedis(lua.NewConn(server.Client(), 0), ratelimit.RedisOptions{})
	require.Equal(t, 100, hammer(t.Context(), t, l, 8, 60))
	cancel()
	flushing.Wait()
	report, err := l.Report(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, ratelimit.Ledger{Received: 480, Admitted: 100, Dropped: 380, Pending: 100}, report.Ledger)
}

// A category that was never seen needs no more than its one call, whatever its name.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		for i, name := range []string{"", "{}", "a:b", "\"quoted\" \\ \n", "ünïcode ☃", "%00", string([]byte{0xff, 0xfe}), strings.Repeat("long", 1000)} {
			r := limits{channel: perMinute(100), category: perMinute(1)}.request(fmt.Sprint(i), name)
			require.Equal(t, "+", outcomes(b.admit(t, r)), "%q", name)
			r.ID += "again"
			require.Equal(t, "-", outcomes(b.admit(t, r)), "%q", name)
		}
	})
}

// A request for more units than one command of Redis takes arguments.
func TestManyUnits(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		r := limits{channel: perMinute(20_000), category: perMinute(15_000)}.request("1", "a")
		r.N = 10_000
		d := b.one(t, r)
		require.Equal(t, ratelimit.Admitted, d.Outcome)
		require.Equal(t, []int64{10_000, 5_000}, []int64{d.Remaining[0].Units, d.Remaining[1].Units})
		r.ID = "2"
		d = b.one(t, r)
		require.Equal(t, "category", d.Level)
		require.Equal(t, time.Minute, d.RetryAfter)
		require.NoError(t, b.Refund(t.Context(), scope, with(limits{channel: perMinute(20_000), category: perMinute(15_000)}.request("1", "a"), 10_000)))
		require.Zero(t, b.used(t, r.Levels[0]))
	})
}
