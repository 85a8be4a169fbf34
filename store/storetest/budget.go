package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var budgetBehaviours = []behaviour{
	{"BudgetAndItsPauseHoldForEverySender", testBudgetAndItsPauseHoldForEverySender},
}

func testBudgetAndItsPauseHoldForEverySender(t *testing.T, start Start) {
	b := start(t)
	one, _ := b.A.(store.Budget)
	other, _ := b.B.(store.Budget)
	take := func(o store.Budget) (time.Duration, string) {
		wait, reason, err := o.ReserveCall(t.Context(), "ws", store.MethodPost, 60)
		require.NoError(t, err)
		return wait, reason
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
