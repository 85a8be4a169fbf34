package ratelimit_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
	"slackrelay/lua/redistest"
	"slackrelay/outbox"
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

// losing loses the answer of every second call that takes in what was admitted meanwhile.
type losing struct {
	away
	calls atomic.Int64
}

func (l *losing) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := l.away.EvalSha(ctx, sha, keys, args...)
	if sha != lua.Admit.Hash() || cmd.Err() != nil {
		return cmd
	}
	if plan, ok := args[0].([]byte); ok && bytes.HasPrefix(plan, []byte(`["restore"`)) && l.calls.Add(1)%2 == 0 {
		cmd.SetErr(io.ErrUnexpectedEOF)
	}
	return cmd
}

// A large journal comes back exactly once, also where the connection breaks between its parcels again and again.
func TestTheWayBackBreaksOff(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	store, line := memstore.New(memstore.Options{}), &losing{away: away{Scripter: client}}
	box := outbox.NewMemory(store, outbox.Options{Owner: "a", Returned: true, DeadLetters: 100})
	s := share(t, ratelimit.NewRedis(line, ratelimit.RedisOptions{}), ratelimit.SharedOptions{
		Replicas: 1, Policies: map[string]ratelimit.Policy{scope.Channel: ratelimit.PolicyOpen}, ProbeEvery: 10 * time.Millisecond, Store: store, Unsent: unsent{box},
	})
	b, l, sent := bundle{Limiter: s}, limits{channel: perMinute(100), category: perMinute(100)}, 0
	line.away.away.Store(true)
	for i := range 60 {
		require.Equal(t, admitted, b.one(t, l.large(nil, fmt.Sprint(i), "a")).Outcome)
	}
	for ; sent < 20; sent++ {
		claim, err := box.Claim(t.Context(), queue, outbox.Terms{Pace: outbox.Pace{Burst: 1}}, false)
		require.NoError(t, err)
		if sent%2 == 0 {
			require.NoError(t, box.Ack(t.Context(), queue, claim.Entry, outbox.Receipt{}))
			continue
		}
		require.NoError(t, box.Bury(t.Context(), queue, claim.Entry, outbox.Death{Reason: "no"}))
	}
	line.away.away.Store(false)
	require.Eventually(t, func() bool { return s.Health().Up }, 10*time.Second, time.Millisecond)
	require.Greater(t, line.calls.Load(), int64(8), "in parcels")
	require.Equal(t, ratelimit.Ledger{Received: 60, Admitted: 60, Delivered: 10, Failed: 10, Pending: 40}, b.report(t).Ledger)
	letters, err := outbox.NewRedis(client, outbox.Options{Owner: "b"}).DeadLetters(t.Context(), queue, "", 50)
	require.NoError(t, err)
	require.Len(t, letters, 10)
}

// unsent gives back what a memory outbox holds.
type unsent struct{ box *outbox.Memory }

func (u unsent) TakeBack(ctx context.Context, scope ratelimit.Scope) (map[int64]ratelimit.Past, error) {
	return u.box.TakeBack(ctx, outbox.Channel{Group: scope.Group, Name: scope.Channel})
}

func (u unsent) Resume(scope ratelimit.Scope) {
	u.box.Resume(outbox.Channel{Group: scope.Group, Name: scope.Channel})
}
