package replica_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	redisstore "slackrelay/store/redis"
)

// What another replica had in hand, and what the store lost, is in no list of due channels.
func TestChannelsAreRecheckedWhenAReplicaEndsOrDataIsLost(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	var rechecks atomic.Int64
	join := func(ctx context.Context, name string, recheck func()) *replica.Limiter {
		l := replica.New(redisstore.New(client, redisstore.Options{}), replica.Options{
			Replica: name, Heartbeat: 20 * time.Millisecond, Recheck: recheck,
		})
		go l.Run(ctx)
		return l
	}
	survivor := join(t.Context(), "survivor", func() { rechecks.Add(1) })
	t.Cleanup(func() { survivor.Close(t.Context()) })
	ctx, end := context.WithCancel(t.Context())
	ending := join(ctx, "ending", nil)
	sees := func(replicas int64) func() bool {
		return func() bool { return survivor.Health().Replicas == replicas }
	}
	require.Eventually(t, sees(2), 5*time.Second, time.Millisecond)
	require.Zero(t, rechecks.Load(), "one that starts had nothing in hand")
	end()
	require.NoError(t, ending.Close(t.Context()))
	require.Eventually(t, func() bool { return rechecks.Load() >= 1 }, 5*time.Second, time.Millisecond)
	before := rechecks.Load()
	require.NoError(t, client.FlushAll(t.Context()).Err())
	require.Eventually(t, func() bool { return rechecks.Load() > before }, 5*time.Second, time.Millisecond)
}
