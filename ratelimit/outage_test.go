package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

// away wraps a client that cannot be reached while away is set: each call fails before it is sent.
type away struct {
	redis.Scripter
	away atomic.Bool
}

func (a *away) refuse(ctx context.Context) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(&net.OpError{Op: "dial", Err: errors.New("connection refused")})
	return cmd
}

func (a *away) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if a.away.Load() {
		return a.refuse(ctx)
	}
	return a.Scripter.EvalSha(ctx, sha, keys, args...)
}

// replicasOn makes replicas that share one server, each with a line that can be cut.
func replicasOn(t *testing.T, n int, policy ratelimit.Policy) (client *redis.Client, lines []*away, all []bundle) {
	t.Helper()
	client = redistest.Start(t).Client()
	for i := range n {
		line := &away{Scripter: client}
		s := share(t, ratelimit.NewRedis(line, ratelimit.RedisOptions{}), ratelimit.SharedOptions{
			Replica: fmt.Sprint("replica-", i), Replicas: n, Policies: map[string]ratelimit.Policy{scope.Channel: policy},
			ProbeEvery: 20 * time.Millisecond,
		})
		lines, all = append(lines, line), append(all, bundle{Limiter: s})
	}
	return client, lines, all
}

func (b bundle) admitted(t *testing.T, l limits, prefix string, n int) (admitted int) {
	t.Helper()
	for i := range n {
		if b.one(t, l.request(fmt.Sprint(prefix, i), "a")).Outcome == ratelimit.Admitted {
			admitted++
		}
	}
	return admitted
}

func TestLocalPolicy(t *testing.T) {
	t.Parallel()
	_, lines, replicas := replicasOn(t, 2, ratelimit.PolicyLocal)
	l := limits{channel: perMinute(100), category: perMinute(11)}
	require.Equal(t, 4, replicas[0].admitted(t, l, "before", 4))
	for _, line := range lines {
		line.away.Store(true)
	}
	d := replicas[0].one(t, l.request("in", "a"))
	require.Equal(t, ratelimit.ByFallback, d.DecidedBy)
	require.False(t, d.Durable)
	require.Equal(t, 5-2-1, replicas[0].admitted(t, l, "a", 9), "floor(11/2), less its share of what was used, less one")
	require.Equal(t, 5, replicas[1].admitted(t, l, "b", 9), "it had seen nothing")
	require.Equal(t, ratelimit.Duplicate, replicas[0].one(t, l.request("in", "a")).Outcome)
	health := replicas[0].Limiter.(*ratelimit.Shared).Health()
	require.False(t, health.Up)
	require.Equal(t, ratelimit.PolicyLocal, health.Away[0].Policy)
	require.Equal(t, int64(3), replicas[0].report(t).Ledger.Admitted, "what is reported is its own")

	for _, line := range lines {
		line.away.Store(false)
	}
	for _, b := range replicas {
		require.Eventually(t, func() bool { return b.Limiter.(*ratelimit.Shared).Health().Up }, 5*time.Second, time.Millisecond)
	}
	ledger := replicas[0].report(t).Ledger
	require.Equal(t, ratelimit.Ledger{Received: 4 + 1 + 9 + 9 + 1, Admitted: 12, Dropped: 7 + 4, Duplicate: 1, Pending: 4, Delivered: 8}, ledger,
		"nobody was there to send, so that all counts as sent")
	require.Equal(t, ratelimit.Dropped, replicas[1].one(t, l.request("after", "a")).Outcome, "what was admitted meanwhile counts")
	require.Equal(t, ratelimit.Duplicate, replicas[1].one(t, l.request("a0", "b")).Outcome, "and so do its ids")
}

// The bounds of policy local: L in a window inside the outage, 2L - L/R across its start.
func TestTheBoundsOfLocal(t *testing.T) {
	t.Parallel()
	const limit = 20
	l := limits{channel: perMinute(1000), category: perMinute(limit)}
	for _, n := range []int{1, 2, 3, 7} {
		_, lines, replicas := replicasOn(t, n, ratelimit.PolicyLocal)
		before := replicas[0].admitted(t, l, "before", 2*limit)
		require.Equal(t, limit, before)
		during := 0
		for i, line := range lines {
			line.away.Store(true)
			during += replicas[i].admitted(t, l, fmt.Sprint("r", i, "-"), 2*limit)
		}
		t.Logf("%d replicas: %d before, %d during the outage", n, before, during)
		require.LessOrEqual(t, during, limit)
		require.LessOrEqual(t, before+during, 2*limit-limit/n)
	}
}

func TestAShareOfNothingRefuses(t *testing.T) {
	t.Parallel()
	_, lines, replicas := replicasOn(t, 3, ratelimit.PolicyLocal)
	l := limits{channel: perMinute(9), category: perMinute(2)}
	lines[0].away.Store(true)
	d := replicas[0].one(t, l.request("1", "a"))
	require.Equal(t, ratelimit.Dropped, d.Outcome, "it could fit, were Redis there: not never")
	require.Equal(t, "category", d.Level)
}

func TestClosedPolicy(t *testing.T) {
	t.Parallel()
	_, lines, replicas := replicasOn(t, 1, ratelimit.PolicyClosed)
	lines[0].away.Store(true)
	_, err := replicas[0].Admit(t.Context(), scope, []ratelimit.Request{small.request("1", "a")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	lines[0].away.Store(false)
	require.Eventually(t, func() bool {
		d, err := replicas[0].Admit(t.Context(), scope, []ratelimit.Request{small.request("1", "a")})
		return err == nil && d[0].Outcome == ratelimit.Admitted && d[0].Durable
	}, 5*time.Second, time.Millisecond)
	require.Equal(t, ratelimit.Ledger{Received: 1, Admitted: 1, Pending: 1}, replicas[0].report(t).Ledger)
}

func TestOpenPolicy(t *testing.T) {
	t.Parallel()
	_, lines, replicas := replicasOn(t, 1, ratelimit.PolicyOpen)
	lines[0].away.Store(true)
	require.Equal(t, 50, replicas[0].admitted(t, small, "x", 50))
	lines[0].away.Store(false)
	require.Eventually(t, func() bool { return replicas[0].Limiter.(*ratelimit.Shared).Health().Up }, 5*time.Second, time.Millisecond)
	require.Equal(t, ratelimit.Ledger{Received: 50, Admitted: 50, Delivered: 50}, replicas[0].report(t).Ledger)
	require.Equal(t, int64(50), replicas[0].used(t, small.request("", "a").Levels[0]), "what was admitted is known after")
	require.Equal(t, ratelimit.Dropped, replicas[0].one(t, small.request("after", "a")).Outcome)
}

// Who never reached Redis knows neither the use nor how many share the limits.
func TestLocalNeedsToKnowTheReplicas(t *testing.T) {
	t.Parallel()
	for replicas, works := range map[int]bool{0: false, 2: true} {
		line := &away{Scripter: redistest.Reserve(t).Client()}
		line.away.Store(true)
		s := share(t, ratelimit.NewRedis(line, ratelimit.RedisOptions{}), ratelimit.SharedOptions{
			Replicas: replicas, Policies: map[string]ratelimit.Policy{scope.Channel: ratelimit.PolicyLocal},
		})
		_, err := s.Admit(t.Context(), scope, []ratelimit.Request{small.request("1", "a")})
		require.Equal(t, works, err == nil, "%v", err)
	}
}
