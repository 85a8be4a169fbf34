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
