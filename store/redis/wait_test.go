package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

func TestWaitBlocksUntilThereIsASlot(t *testing.T) {
	t.Parallel()
	b := storetest.Fixture{Limiter: redisstore.New(redistest.Start(t).Client(), redisstore.Options{})}
	short := ratelimit.Window{Limit: 1, Per: 100 * time.Millisecond}
	l := storetest.Limits{Channel: short, Category: short}
	limiter := store.LimiterOf(b, storetest.Scope)
	begin := time.Now()
	for i := range 3 {
		require.NoError(t, ratelimit.Wait(t.Context(), limiter, l.Request(fmt.Sprint(i), "a").Request))
	}
	require.GreaterOrEqual(t, time.Since(begin), 200*time.Millisecond)
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3}, b.MustReport(t).Ledger, "waiting counts no drops")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	long := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	b.MustAdmit(t, long.Request("first", "b"))
	err := ratelimit.Wait(ctx, limiter, long.Request("second", "b").Request)
	var limited *ratelimit.LimitedError
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorAs(t, err, &limited)
	never := long.Request("third", "c")
	never.N = 2
	require.ErrorAs(t, ratelimit.Wait(t.Context(), limiter, never.Request), &limited)
	require.Negative(t, limited.RetryAfter)
}
