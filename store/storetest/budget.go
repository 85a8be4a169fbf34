package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var budgetBehaviours = []behaviour{
	{"BudgetAndItsPauseHoldForEverySender", testBudgetAndItsPauseHoldForEverySender},
	{"BudgetReservesAsManyCallsAsItHas", testBudgetReservesAsManyCallsAsItHas},
}

// posts are n posts of so many a minute.
func posts(perMinute, n int64) store.Calls {
	return store.Calls{Method: store.MethodPost, PerMinute: perMinute, N: n}
}

// Of several calls, as many are reserved as the budget allows.
func testBudgetReservesAsManyCallsAsItHas(t *testing.T, start Start) {
	b := start(t)
	reserve := func(n int64) store.Reservation {
		reserved, err := b.A.ReserveCalls(t.Context(), "ws", posts(60, n))
		require.NoError(t, err)
		return reserved
	}
	require.Equal(t, store.Reservation{N: 1}, reserve(0), "one by default")
	require.Equal(t, store.Reservation{N: 20}, reserve(20))
	require.Equal(t, store.Reservation{N: 9, Wait: time.Second}, reserve(15))
	require.Equal(t, store.Reservation{Wait: time.Second}, reserve(2))
	b.Advance(2500 * time.Millisecond)
	require.Equal(t, store.Reservation{N: 2, Wait: 500 * time.Millisecond}, reserve(3))
	require.NoError(t, b.B.PauseCredential(t.Context(), "ws", "token_revoked", time.Minute))
	require.Equal(t, store.Reservation{Wait: time.Minute, Reason: "token_revoked"}, reserve(3))
	require.NoError(t, b.B.PauseCredential(t.Context(), "ws", "", 0))
	b.Advance(time.Hour)
	require.Equal(t, store.Reservation{N: 30, Wait: time.Second}, reserve(100))
}

func testBudgetAndItsPauseHoldForEverySender(t *testing.T, start Start) {
	b := start(t)
	one, _ := b.A.(store.Budget)
	other, _ := b.B.(store.Budget)
	take := func(o store.Budget) (time.Duration, string) {
		reserved, err := o.ReserveCalls(t.Context(), "ws", posts(60, 1))
		require.NoError(t, err)
		return reserved.Wait, reserved.Reason
	}
	for range 15 { // half of a minute's at once, over all replicas
		for _, o := range []store.Budget{one, other} {
			wait, _ := take(o)
			require.Zero(t, wait)
		}
	}
	wait, reason := take(one)
	require.Equal(t, time.Second, wait)
	require.Empty(t, reason)
	require.NoError(t, one.PauseCredential(t.Context(), "ws", "token_revoked", time.Minute))
	wait, reason = take(other)
	require.Equal(t, time.Minute, wait)
	require.Equal(t, "token_revoked", reason)
	wait, reason, err := other.CredentialPaused(t.Context(), "ws")
	require.NoError(t, err)
	require.Equal(t, time.Minute, wait)
	require.Equal(t, "token_revoked", reason)
	require.NoError(t, other.PauseCredential(t.Context(), "ws", "", 0))
	b.Advance(time.Second)
	wait, _ = take(one)
	require.Zero(t, wait)
}
