package replica_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

func TestLocalPolicy(t *testing.T) {
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
		require.Eventually(t, func() bool { return b.Limiter.(*replica.Limiter).Health().Up }, 5*time.Second, time.Millisecond)
	}
	ledger := replicas[0].MustReport(t).Ledger
	require.Equal(t, store.Ledger{Received: 4 + 1 + 9 + 9 + 1, Admitted: 12, Dropped: 7 + 4, Duplicate: 1, Pending: 4, Delivered: 8}, ledger,
		"nobody was there to send, so that all counts as sent")
	require.Equal(t, store.Dropped, replicas[1].AdmitOne(t, l.Request("after", "a")).Outcome, "what was admitted meanwhile counts")
	require.Equal(t, store.Duplicate, replicas[1].AdmitOne(t, l.Request("a0", "b")).Outcome, "and so do its ids")
}

// The bounds of policy local: L in a window inside the outage, 2L - L/R across its start.
func TestTheBoundsOfLocal(t *testing.T) {
	t.Parallel()
	const limit = 20
	l := storetest.Limits{Channel: storetest.PerMinute(1000), Category: storetest.PerMinute(limit)}
	for _, n := range []int{1, 2, 3, 7} {
		_, lines, replicas := storetest.ReplicasOn(t, n, replica.PolicyLocal)
		before := replicas[0].Admitted(t, l, "before", 2*limit)
		require.Equal(t, limit, before)
		during := 0
		for i, line := range lines {
			line.Away.Store(true)
			during += replicas[i].Admitted(t, l, fmt.Sprint("r", i, "-"), 2*limit)
		}
		t.Logf("%d replicas: %d before, %d during the outage", n, before, during)
		require.LessOrEqual(t, during, limit)
		require.LessOrEqual(t, before+during, 2*limit-limit/n)
	}
}

func TestAShareOfNothingRefuses(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 3, replica.PolicyLocal)
	l := storetest.Limits{Channel: storetest.PerMinute(9), Category: storetest.PerMinute(2)}
	lines[0].Away.Store(true)
	d := replicas[0].AdmitOne(t, l.Request("1", "a"))
	require.Equal(t, store.Dropped, d.Outcome, "it could fit, were Redis there: not never")
	require.Equal(t, "category", d.Level)
}

func TestClosedPolicy(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 1, replica.PolicyClosed)
	lines[0].Away.Store(true)
	_, err := replicas[0].Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
	require.ErrorIs(t, err, store.ErrUnavailable)
	lines[0].Away.Store(false)
	require.Eventually(t, func() bool {
		d, err := replicas[0].Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
		return err == nil && d[0].Outcome == store.Admitted && d[0].Durable
	}, 5*time.Second, time.Millisecond)
	require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Pending: 1}, replicas[0].MustReport(t).Ledger)
}

func TestOpenPolicy(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 1, replica.PolicyOpen)
	lines[0].Away.Store(true)
	require.Equal(t, 50, replicas[0].Admitted(t, storetest.Small, "x", 50))
	lines[0].Away.Store(false)
	require.Eventually(t, func() bool { return replicas[0].Limiter.(*replica.Limiter).Health().Up }, 5*time.Second, time.Millisecond)
	require.Equal(t, store.Ledger{Received: 50, Admitted: 50, Delivered: 50}, replicas[0].MustReport(t).Ledger)
	require.Equal(t, int64(50), replicas[0].Used(t, storetest.Small.Request("", "a").Levels[0]), "what was admitted is known after")
	require.Equal(t, store.Dropped, replicas[0].AdmitOne(t, storetest.Small.Request("after", "a")).Outcome)
}

// Who never reached Redis knows neither the use nor how many share the limits.
func TestLocalNeedsToKnowTheReplicas(t *testing.T) {
	t.Parallel()
	for replicas, works := range map[int]bool{0: false, 2: true} {
		line := &storetest.Away{Scripter: redistest.Reserve(t).Client()}
		line.Away.Store(true)
		s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
			Replicas: replicas, Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyLocal},
		})
		_, err := s.Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
		require.Equal(t, works, err == nil, "%v", err)
	}
}
