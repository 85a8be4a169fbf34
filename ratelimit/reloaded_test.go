package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
)

// What was admitted under a configuration and under its successor, all while Redis was away, is taken in: an outage with a
// reload in it ends as any other.
func TestAReloadWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	_, lines, replicas := replicasOn(t, 1, ratelimit.PolicyLocal)
	l, b := limits{channel: perMinute(100), category: perMinute(100)}, replicas[0]
	lines[0].away.Store(true)
	for reload := range 4 {
		var h *ratelimit.Handling // of the channel as it is configured now
		if reload != 1 {
			h = &ratelimit.Handling{Overflow: "drop", Resolves: "post", Drops: 10, PostedFor: time.Hour}
		}
		for i := range 3 {
			require.Equal(t, admitted, b.one(t, l.told(h, fmt.Sprint(reload, "-", i), "a", "", "")).Outcome)
		}
	}
	lines[0].away.Store(false)
	require.Eventually(t, func() bool { return b.Limiter.(*ratelimit.Shared).Health().Up }, 5*time.Second, time.Millisecond)
	require.Equal(t, ratelimit.Ledger{Received: 12, Admitted: 12, Delivered: 12}, b.report(t).Ledger)
}

// What waits for a slot in Redis is asked for there alone: the fallback knows nothing of its place, and would have it posted
// while it goes on waiting.
func TestNothingDelayedIsAdmittedWithoutRedis(t *testing.T) {
	t.Parallel()
	for _, policy := range []ratelimit.Policy{ratelimit.PolicyLocal, ratelimit.PolicyOpen} {
		_, lines, replicas := replicasOn(t, 2, policy)
		h := &ratelimit.Handling{Overflow: "delay", MaxDelayed: 3, MaxDelay: time.Minute, Resolves: "post", PostedFor: time.Hour}
		l := limits{channel: perMinute(100), category: perMinute(2)}
		for i := range 3 {
			replicas[0].one(t, l.told(h, fmt.Sprint(i), "a", "", ""))
		}
		again := l.told(h, "2", "a", "", "")
		again.Delayed = 3
		for i, line := range lines {
			line.away.Store(true)
			_, err := replicas[i].Admit(t.Context(), scope, []ratelimit.Request{again})
			require.ErrorIs(t, err, ratelimit.ErrUnavailable, "%s, replica %d", policy, i)
		}
		for i, line := range lines {
			line.away.Store(false)
			require.Eventually(t, func() bool { return replicas[i].Limiter.(*ratelimit.Shared).Health().Up }, 5*time.Second, time.Millisecond)
		}
		require.Equal(t, ratelimit.Ledger{Received: 3, Admitted: 2, Delayed: 1, Pending: 2}, replicas[0].report(t).Ledger)
	}
}
