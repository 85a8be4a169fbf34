package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

// What Redis admitted, or found to be a duplicate, is a duplicate without Redis too.
func TestWhatRedisHoldsIsADuplicateWithoutIt(t *testing.T) {
	t.Parallel()
	for _, policy := range []ratelimit.Policy{ratelimit.PolicyLocal, ratelimit.PolicyOpen} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			_, lines, replicas := replicasOn(t, 2, policy)
			l := limits{channel: perMinute(100), category: perMinute(100)}
			require.Equal(t, "++", outcomes(replicas[0].admit(t, l.request("1", "a"), l.request("2", "a"))))
			require.Equal(t, ratelimit.Duplicate, replicas[1].one(t, l.request("1", "a")).Outcome)
			for _, line := range lines {
				line.away.Store(true)
			}
			d := replicas[0].admit(t, l.request("1", "a"), l.request("3", "a"), l.request("2", "b"))
			require.Equal(t, []ratelimit.Outcome{ratelimit.Duplicate, admitted, ratelimit.Duplicate}, outcomesOf(d))
			require.Equal(t, []any{ratelimit.ByFallback, true, false}, []any{d[0].DecidedBy, d[0].Durable, d[1].Durable})
			require.Equal(t, ratelimit.Duplicate, replicas[1].one(t, l.request("1", "a")).Outcome, "who found a duplicate knows it too")
			require.Equal(t, admitted, replicas[1].one(t, l.request("2", "a")).Outcome, "who never heard of it does not")
			for _, line := range lines {
				line.away.Store(false)
			}
			for _, b := range replicas {
				require.Eventually(t, func() bool { return b.Limiter.(*ratelimit.Shared).Health().Up }, 5*time.Second, time.Millisecond)
			}
			require.Equal(t, ratelimit.Ledger{Received: 8, Admitted: 3, Duplicate: 5, Pending: 2, Delivered: 1}, replicas[0].report(t).Ledger,
				"what another replica admitted too is a duplicate in the end")
		})
	}
}

// A channel that is closed without Redis answers nothing at all.
func TestAClosedChannelKnowsNoDuplicates(t *testing.T) {
	t.Parallel()
	_, lines, replicas := replicasOn(t, 1, ratelimit.PolicyClosed)
	require.Equal(t, admitted, replicas[0].one(t, small.request("1", "a")).Outcome)
	lines[0].away.Store(true)
	_, err := replicas[0].Admit(t.Context(), scope, []ratelimit.Request{small.request("1", "a")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
}

// Where Redis lost its data, it holds nothing of what it held before.
func TestLostStateIsNotRemembered(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	line := &away{Scripter: client}
	s := share(t, ratelimit.NewRedis(line, ratelimit.RedisOptions{}), ratelimit.SharedOptions{
		Replicas: 1, Policies: map[string]ratelimit.Policy{scope.Channel: ratelimit.PolicyLocal}, Heartbeat: 10 * time.Millisecond,
	})
	go s.Run(t.Context())
	b := bundle{Limiter: s}
	require.Equal(t, admitted, b.one(t, small.request("1", "a")).Outcome)
	require.Eventually(t, func() bool { return client.Exists(t.Context(), "relay:{replicas}:epoch").Val() == 1 }, 5*time.Second, time.Millisecond)
	require.NoError(t, client.FlushAll(t.Context()).Err())
	require.Eventually(t, func() bool { return s.Health().StateLost == 1 }, 5*time.Second, time.Millisecond)
	line.away.Store(true)
	require.Equal(t, admitted, b.one(t, small.request("1", "a")).Outcome)
}

func TestRemembered(t *testing.T) {
	t.Parallel()
	var m ratelimit.Remembered
	now := start
	require.False(t, m.Knows("1", now))
	m.Learn("1", ratelimit.Admitted, now)
	m.Learn("dropped", ratelimit.Dropped, now)
	m.Learn("merged", ratelimit.Merged, now)
	require.Equal(t, []bool{true, false, true}, []bool{m.Knows("1", now), m.Knows("dropped", now), m.Knows("merged", now)})
	now = now.Add(30 * time.Minute)
	m.Learn("1", ratelimit.Duplicate, now)
	m.Learn("elsewhere", ratelimit.Duplicate, now)
	now = now.Add(30*time.Minute - 1)
	require.True(t, m.Knows("1", now))
	now = now.Add(1)
	require.False(t, m.Knows("1", now), "its time is that of its admission")
	require.True(t, m.Knows("elsewhere", now))
	for i := range 5 * ratelimit.MaxRemembered {
		m.Learn(fmt.Sprint("many", i), ratelimit.Admitted, now)
	}
	require.LessOrEqual(t, m.Size(), 2*ratelimit.MaxRemembered)
	require.True(t, m.Knows(fmt.Sprint("many", 4*ratelimit.MaxRemembered), now), "the newest are kept")
	now = now.Add(time.Hour)
	m.Learn("a", ratelimit.Admitted, now)
	now = now.Add(time.Hour)
	m.Learn("b", ratelimit.Admitted, now)
	require.Equal(t, 2, m.Size(), "what is too old is forgotten")
}
