package replica_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// What a replica knows to be closed is asked for all the same, and never together with what is not forced.
func TestForcedRequestPassesTheClosedCache(t *testing.T) {
	t.Parallel()
	limiter := storetest.Share(t, memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), replica.Options{})
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	decide := func(id string, forced bool) store.Outcome {
		r := l.Request(id, "c")
		r.Forced = forced
		decisions, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{r})
		require.NoError(t, err)
		return decisions[0].Outcome
	}
	require.Equal(t, []store.Outcome{storetest.Admitted, storetest.Dropped, storetest.Dropped, storetest.Admitted, storetest.Dropped},
		[]store.Outcome{decide("1", false), decide("2", false), decide("3", false), decide("4", true), decide("5", false)})
	mixed := []store.Request{l.Request("6", "c"), l.Request("7", "c")}
	mixed[1].Forced = true
	_, err := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}).Admit(t.Context(), storetest.Scope, mixed)
	require.ErrorIs(t, err, store.ErrRequest)
}

// While Redis is away nothing is forced: nobody could say that it was.
func TestNothingIsForcedWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	narrow := storetest.Limits{Channel: storetest.PerMinute(4), Category: storetest.PerMinute(2)}
	limiter := storetest.Share(t, redisstore.New(lua.NewConn(server.Client(), 0), redisstore.Options{}), replica.Options{
		Policies: map[string]replica.Policy{"alerts": replica.PolicyOpen}, Replicas: 1,
	})
	admit := func(id string, forced bool) error {
		r := narrow.Request(id, "c")
		r.Forced = forced
		_, err := limiter.Admit(context.WithoutCancel(t.Context()), storetest.Scope, []store.Request{r})
		return err
	}
	require.NoError(t, admit("1", false))
	server.Kill()
	require.Eventually(t, func() bool { return admit("2", false) == nil }, 10*time.Second, 20*time.Millisecond, "it goes on without Redis")
	require.ErrorIs(t, admit("3", true), store.ErrUnavailable)
}
