package redis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/storetest"
)

// All keys of every script are in one slot: on a Redis Cluster, each call of the way of an event succeeds.
func TestEveryScriptOfTheOutboxKeepsToOneSlot(t *testing.T) {
	t.Parallel()
	client := redistest.StartClusterNode(t).Client()
	require.Error(t, client.Eval(t.Context(), "return 1", []string{"relay:{a}:x", "relay:{b}:x"}).Err(), "two slots are refused")

	b := onServer(client)
	b.Fill(t, 3)
	require.NoError(t, b.A.Retry(t.Context(), storetest.Scope, storetest.ClaimEntry(t, b.A), store.RetryPlan{}))
	require.NoError(t, b.A.Ack(t.Context(), storetest.Scope, storetest.ClaimEntry(t, b.A), store.Receipt{}))
	require.NoError(t, b.A.Bury(t.Context(), storetest.Scope, storetest.ClaimEntry(t, b.A), store.DeadReason{Reason: "x"}))
	require.NoError(t, b.A.Release(t.Context(), storetest.Scope))
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 1, Failed: 1, Pending: 1}, b.BalancedReport(t).Ledger)
	_, err := b.Categories(t.Context(), storetest.Scope)
	require.NoError(t, err)
	b.DropForDigest(t, "c", 1)
	require.NoError(t, b.A.Digest(t.Context(), storetest.Scope, store.DigestTerms{Interval: time.Microsecond, Minimum: 1}))
	require.NoError(t, b.A.Append(t.Context(), storetest.Scope, "1", store.KindNotice, []byte("{}")))
	copied := store.Channel{Group: "alerts", Name: "alerts~fallback"}
	require.NoError(t, b.A.Bury(t.Context(), storetest.Scope, storetest.ClaimEntry(t, b.A), store.DeadReason{Reason: "x", CopyTo: &copied}))
	_, err = b.A.Delayed(t.Context(), storetest.Scope)
	require.NoError(t, err)
	_, err = b.A.PostedMessage(t.Context(), storetest.Scope, 1)
	require.NoError(t, err)
	letters, err := b.A.DeadLetters(t.Context(), storetest.Scope, "", 1)
	require.NoError(t, err)
	_, err = b.A.DeleteDead(t.Context(), storetest.Scope, letters[0].ID)
	require.NoError(t, err)
	_, err = b.A.Renew(t.Context(), storetest.Scope)
	require.NoError(t, err)
	budget, _ := b.A.(store.Budget)
	_, err = budget.ReserveCalls(t.Context(), "ws", store.Calls{Method: store.MethodPost, PerMinute: 1})
	require.NoError(t, err)
	require.NoError(t, budget.PauseCredential(t.Context(), "ws", "x", time.Second))
	_, err = b.Drops(t.Context(), storetest.Scope, "", 1)
	require.NoError(t, err)
	_, err = store.UsageOf(t.Context(), b.Limiter, storetest.Scope, []ratelimit.Level{
		storetest.ChannelLevel("alerts", ratelimit.Window{Limit: 1, Per: time.Hour}),
		storetest.Level(storetest.Scope, "category", "c", ratelimit.Window{Limit: 1, Per: time.Hour}),
	})
	require.NoError(t, err)
}
