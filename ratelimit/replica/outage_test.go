package replica_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// Each replica admits its share of the limits, less its share of what it knows to be used; afterwards Redis has it all.
func TestLocalPolicyAdmitsTheShareOfEachReplica(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 2, replica.PolicyLocal)
	l := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(11)}
	require.Equal(t, 4, replicas[0].Admitted(t, l, "before", 4))
	for _, line := range lines {
		line.Away.Store(true)
	}
	d := replicas[0].AdmitOne(t, l.Request("in", "a"))
	require.Equal(t, store.ByFallback, d.DecidedBy)
	require.False(t, d.Durable)
	require.Equal(t, 5-2-1, replicas[0].Admitted(t, l, "a", 9), "floor(11/2), less its share of what was used, less one")
	require.Equal(t, 5, replicas[1].Admitted(t, l, "b", 9), "it had seen nothing")
	require.Equal(t, store.Duplicate, replicas[0].AdmitOne(t, l.Request("in", "a")).Outcome)
	health := replicas[0].Limiter.(*replica.Limiter).Health()
	require.False(t, health.Up)
	require.Equal(t, replica.PolicyLocal, health.Away[0].Policy)
	require.Equal(t, int64(3), replicas[0].MustReport(t).Ledger.Admitted, "what is reported is its own")

	for _, line := range lines {
		line.Away.Store(false)
	}
	for _, b := range replicas {
		awaitUp(t, b.Limiter)
	}
	ledger := replicas[0].MustReport(t).Ledger
	require.Equal(t, store.Ledger{Received: 4 + 1 + 9 + 9 + 1, Admitted: 12, Dropped: 7 + 4, Duplicate: 1, Pending: 4, Delivered: 8}, ledger,
		"nobody was there to send, so that all counts as sent")
	require.Equal(t, store.Dropped, replicas[1].AdmitOne(t, l.Request("after", "a")).Outcome, "what was admitted meanwhile counts")
	require.Equal(t, store.Duplicate, replicas[1].AdmitOne(t, l.Request("a0", "b")).Outcome, "and so do its ids")
}

// The fallback asks for the number of replicas in the middle of a step, and a channel that seeds the fallback waits for that step.
func TestNumberOfReplicasIsKnownWhileAChannelSeedsTheFallback(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 1, replica.PolicyLocal)
	l := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(11)}
	lines[0].Away.Store(true)
	require.Equal(t, store.ByFallback, replicas[0].AdmitOne(t, l.Request("in", "a")).DecidedBy)
	limiter, ok := replicas[0].Limiter.(*replica.Limiter)
	require.True(t, ok)
	known := make(chan int64, 1)
	replica.WhileSeeding(limiter, storetest.Scope, func() {
		go func() { known <- limiter.Replicas() }()
		select {
		case n := <-known:
			require.Equal(t, int64(1), n)
		case <-time.After(10 * time.Second):
			require.Fail(t, "the number of replicas waits for a channel")
		}
	})
}

// The bounds of policy local: L in a window inside the outage, 2L - L/R across its start.
func TestLocalPolicyKeepsItsBounds(t *testing.T) {
	t.Parallel()
	const limit = 20
	l := storetest.Limits{Channel: storetest.PerMinute(1000), Category: storetest.PerMinute(limit)}
	for _, n := range []int{1, 2, 3, 7} {
		t.Run(fmt.Sprint(n, " replicas"), func(t *testing.T) {
			t.Parallel()
			_, lines, replicas := storetest.ReplicasOn(t, n, replica.PolicyLocal)
			before := replicas[0].Admitted(t, l, "before", 2*limit)
			require.Equal(t, limit, before)
			during := 0
			for i, line := range lines {
				line.Away.Store(true)
				during += replicas[i].Admitted(t, l, fmt.Sprint("r", i, "-"), 2*limit)
			}
			t.Logf("%d before, %d during the outage", before, during)
			require.LessOrEqual(t, during, limit)
			require.LessOrEqual(t, before+during, 2*limit-limit/n)
		})
	}
}

func TestLocalPolicyWithAShareOfZeroDrops(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 3, replica.PolicyLocal)
	l := storetest.Limits{Channel: storetest.PerMinute(9), Category: storetest.PerMinute(2)}
	lines[0].Away.Store(true)
	d := replicas[0].AdmitOne(t, l.Request("1", "a"))
	require.Equal(t, store.Dropped, d.Outcome, "it could fit, were Redis there: not never")
	require.Equal(t, "category", d.Level)
}

func TestClosedPolicyAdmitsNothingUntilRedisIsBack(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 1, replica.PolicyClosed)
	lines[0].Away.Store(true)
	_, err := replicas[0].Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	lines[0].Away.Store(false)
	require.Eventually(t, func() bool {
		answer, err := replicas[0].Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
		return err == nil && answer.Decisions[0].Outcome == store.Admitted && answer.Decisions[0].Durable
	}, 5*time.Second, time.Millisecond)
	require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Pending: 1}, replicas[0].MustReport(t).Ledger)
}

func TestOpenPolicyAdmitsEverythingAndCountsItAfterwards(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 1, replica.PolicyOpen)
	lines[0].Away.Store(true)
	require.Equal(t, 50, replicas[0].Admitted(t, storetest.Small, "x", 50))
	lines[0].Away.Store(false)
	awaitUp(t, replicas[0].Limiter)
	require.Equal(t, store.Ledger{Received: 50, Admitted: 50, Delivered: 50}, replicas[0].MustReport(t).Ledger)
	require.Equal(t, int64(50), replicas[0].Used(t, storetest.Small.Request("", "a").Levels[0]), "what was admitted is known after")
	require.Equal(t, store.Dropped, replicas[0].AdmitOne(t, storetest.Small.Request("after", "a")).Outcome)
}

// A process that never reached Redis knows neither what is used nor how many replicas there are.
func TestLocalPolicyNeedsTheNumberOfReplicas(t *testing.T) {
	t.Parallel()
	admit := func(t *testing.T, replicas int) error {
		t.Helper()
		line := &storetest.Away{Scripter: redistest.Reserve(t).Client()}
		line.Away.Store(true)
		s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
			Replicas: replicas, Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyLocal},
		})
		_, err := s.Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
		return err
	}
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		require.ErrorIs(t, admit(t, 0), ratelimit.ErrUnavailable)
	})
	t.Run("configured", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, admit(t, 2))
	})
}

// A forced request asks the store though its level is known to be closed.
func TestForcedRequestPassesTheClosedCache(t *testing.T) {
	t.Parallel()
	limiter := storetest.Share(t, memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), replica.Options{})
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	outcome := func(answer store.Answer, err error) store.Outcome {
		require.NoError(t, err)
		return answer.Decisions[0].Outcome
	}
	admit := func(id string) store.Outcome {
		return outcome(limiter.Admit(t.Context(), storetest.Scope, []store.Request{l.Request(id, "c")}))
	}
	require.Equal(t, storetest.Admitted, admit("1"))
	require.Equal(t, storetest.Dropped, admit("2"))
	require.Equal(t, storetest.Dropped, admit("3"))
	require.Equal(t, storetest.Admitted, outcome(limiter.Force(t.Context(), storetest.Scope, []store.Request{l.Request("4", "c")})))
	require.Equal(t, storetest.Dropped, admit("5"))
}

// During an outage nothing is forced, because the shared ledger could not count it.
func TestNothingIsForcedDuringAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	limiter := storetest.Share(t, redisstore.New(lua.NewConn(server.Client(), 0), redisstore.Options{}), replica.Options{
		Policies: map[string]replica.Policy{"alerts": replica.PolicyOpen}, Replicas: 1,
	})
	ctx := context.WithoutCancel(t.Context())
	admit := func(id string) error {
		_, err := limiter.Admit(ctx, storetest.Scope, []store.Request{storetest.Small.Request(id, "c")})
		return err
	}
	require.NoError(t, admit("1"))
	server.Kill()
	require.Eventually(t, func() bool { return admit("2") == nil }, 10*time.Second, 20*time.Millisecond, "it is admitted without Redis")
	_, err := limiter.Force(ctx, storetest.Scope, []store.Request{storetest.Small.Request("3", "c")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
}

// A duplicate says nothing of what is used: what was known before still counts when an outage begins.
func TestDuplicateBeforeAnOutageForgetsNoUse(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 1, replica.PolicyLocal)
	l := storetest.Limits{Channel: storetest.PerMinute(20), Category: storetest.PerMinute(20)}
	require.Equal(t, 19, replicas[0].Admitted(t, l, "before", 19))
	require.Equal(t, store.Duplicate, replicas[0].AdmitOne(t, l.Request("before0", "a")).Outcome)
	lines[0].Away.Store(true)
	require.Equal(t, 1, replicas[0].Admitted(t, l, "during", 20))
}
