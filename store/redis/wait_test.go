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
	begin := time.Now()
	for i := range 3 {
		require.NoError(t, store.Wait(t.Context(), b, storetest.Scope, l.Request(fmt.Sprint(i), "a")))
	}
	require.GreaterOrEqual(t, time.Since(begin), 200*time.Millisecond)
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Pending: 3}, b.MustReport(t).Ledger, "waiting counts no drops")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	long := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	b.MustAdmit(t, long.Request("first", "b"))
	err := store.Wait(ctx, b, storetest.Scope, long.Request("second", "b"))
	var limited *store.LimitedError
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorAs(t, err, &limited)
	never := long.Request("third", "c")
	never.N = 2
	require.ErrorAs(t, store.Wait(t.Context(), b, storetest.Scope, never), &limited)
	require.Negative(t, limited.RetryAfter)
}
