package replica_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// An id that Redis admitted, or found to be a duplicate, is a duplicate without Redis too.
func TestIDsThatRedisHasAreDuplicatesWithoutIt(t *testing.T) {
	t.Parallel()
	for _, policy := range []replica.Policy{replica.PolicyLocal, replica.PolicyOpen} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			_, lines, replicas := storetest.ReplicasOn(t, 2, policy)
			l := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(100)}
			require.Equal(t, "++", storetest.Outcomes(replicas[0].MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"))))
			require.Equal(t, store.Duplicate, replicas[1].AdmitOne(t, l.Request("1", "a")).Outcome)
			for _, line := range lines {
				line.Away.Store(true)
			}
			d := replicas[0].MustAdmit(t, l.Request("1", "a"), l.Request("3", "a"), l.Request("2", "b"))
			require.Equal(t, []store.Outcome{store.Duplicate, storetest.Admitted, store.Duplicate}, storetest.OutcomesOf(d))
			require.Equal(t, store.ByFallback, d[0].DecidedBy)
			require.True(t, d[0].Durable, "Redis has it")
			require.False(t, d[1].Durable)
			require.Equal(t, store.Duplicate, replicas[1].AdmitOne(t, l.Request("1", "a")).Outcome, "a replica that found a duplicate knows it too")
			require.Equal(t, storetest.Admitted, replicas[1].AdmitOne(t, l.Request("2", "a")).Outcome, "a replica that never saw the id does not")
			for _, line := range lines {
				line.Away.Store(false)
			}
			for _, b := range replicas {
				awaitUp(t, b.Limiter)
			}
			require.Equal(t, store.Ledger{Received: 8, Admitted: 3, Duplicate: 5, Pending: 2, Delivered: 1}, replicas[0].MustReport(t).Ledger,
				"what another replica admitted too is a duplicate in the end")
		})
	}
}

// A channel that is closed during an outage decides nothing, duplicates included.
func TestClosedChannelRefusesDuplicatesToo(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 1, replica.PolicyClosed)
	require.Equal(t, storetest.Admitted, replicas[0].AdmitOne(t, storetest.Small.Request("1", "a")).Outcome)
	lines[0].Away.Store(true)
	_, err := replicas[0].Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
}

// A Redis that lost its data has none of the ids that it had before.
func TestRecentIDsAreForgottenWhenRedisLosesItsData(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	line := &storetest.Away{Scripter: client}
	s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
		Replicas: 1, Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyLocal}, Heartbeat: 10 * time.Millisecond,
	})
	go s.Run(t.Context())
	b := storetest.Fixture{Limiter: s}
	require.Equal(t, storetest.Admitted, b.AdmitOne(t, storetest.Small.Request("1", "a")).Outcome)
	announced := func() bool { return client.Exists(t.Context(), "relay:{replicas}:epoch").Val() == 1 }
	require.Eventually(t, announced, 5*time.Second, time.Millisecond)
	require.NoError(t, client.FlushAll(t.Context()).Err())
	require.Eventually(t, func() bool { return s.Health().StateLost == 1 }, 5*time.Second, time.Millisecond)
	line.Away.Store(true)
	require.Equal(t, storetest.Admitted, b.AdmitOne(t, storetest.Small.Request("1", "a")).Outcome)
}

func TestRecentIDsAreBoundedInNumberAndAge(t *testing.T) {
	t.Parallel()
	var ids replica.RecentIDs
	now := storetest.StartTime
	require.False(t, ids.Knows("1", now))
	ids.Learn("1", store.Admitted, now)
	ids.Learn("dropped", store.Dropped, now)
	ids.Learn("merged", store.Merged, now)
	require.True(t, ids.Knows("1", now))
	require.False(t, ids.Knows("dropped", now))
	require.True(t, ids.Knows("merged", now))
	now = now.Add(30 * time.Minute)
	ids.Learn("1", store.Duplicate, now)
	ids.Learn("elsewhere", store.Duplicate, now)
	now = now.Add(30*time.Minute - 1)
	require.True(t, ids.Knows("1", now))
	now = now.Add(1)
	require.False(t, ids.Knows("1", now), "its time is that of its admission")
	require.True(t, ids.Knows("elsewhere", now))
	for i := range 5 * replica.MaxRecent {
		ids.Learn(fmt.Sprint("many", i), store.Admitted, now)
	}
	require.LessOrEqual(t, ids.Size(), 2*replica.MaxRecent)
	require.True(t, ids.Knows(fmt.Sprint("many", 4*replica.MaxRecent), now), "the newest are kept")
	now = now.Add(time.Hour)
	ids.Learn("a", store.Admitted, now)
	now = now.Add(time.Hour)
	ids.Learn("b", store.Admitted, now)
	require.Equal(t, 2, ids.Size(), "what is too old is forgotten")
}
