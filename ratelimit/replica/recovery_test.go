package replica_test

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
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// An outage with reloads in it ends as any other: what was admitted under each configuration is restored.
func TestJournalOfSeveralConfigurationsIsRestored(t *testing.T) {
	t.Parallel()
	_, lines, replicas := storetest.ReplicasOn(t, 1, replica.PolicyLocal)
	l, b := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(100)}, replicas[0]
	lines[0].Away.Store(true)
	for reload := range 4 {
		var h *store.MessagePolicy // of the channel as it is configured now
		if reload != 1 {
			h = &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 10, PostedFor: time.Hour}
		}
		for i := range 3 {
			require.Equal(t, storetest.Admitted, b.AdmitOne(t, l.AlertRequest(h, fmt.Sprint(reload, "-", i), "a", "", "")).Outcome)
		}
	}
	lines[0].Away.Store(false)
	awaitUp(t, b.Limiter)
	require.Equal(t, store.Ledger{Received: 12, Admitted: 12, Delivered: 12}, b.MustReport(t).Ledger)
}

// A delayed event waits in Redis, and only Redis may admit it: the fallback would have it posted while it keeps waiting there.
func TestDelayedEventIsNotAdmittedWithoutRedis(t *testing.T) {
	t.Parallel()
	for _, policy := range []replica.Policy{replica.PolicyLocal, replica.PolicyOpen} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			_, lines, replicas := storetest.ReplicasOn(t, 2, policy)
			h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 3, MaxDelay: time.Minute, Resolves: "post", PostedFor: time.Hour}
			l := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(2)}
			for i := range 3 {
				replicas[0].AdmitOne(t, l.AlertRequest(h, fmt.Sprint(i), "a", "", ""))
			}
			again := l.AlertRequest(h, "2", "a", "", "")
			again.Delayed = 3
			for i, line := range lines {
				line.Away.Store(true)
				_, err := replicas[i].Promote(t.Context(), storetest.Scope, []store.Request{again})
				require.ErrorIs(t, err, ratelimit.ErrUnavailable, "replica %d", i)
			}
			for i, line := range lines {
				line.Away.Store(false)
				awaitUp(t, replicas[i].Limiter)
			}
			require.Equal(t, store.Ledger{Received: 3, Admitted: 2, Delayed: 1, Pending: 2}, replicas[0].MustReport(t).Ledger)
		})
	}
}

// losing loses the answer of every second call that restores a journal.
type losing struct {
	storetest.Away
	calls atomic.Int64
}

func (l *losing) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := l.Away.EvalSha(ctx, sha, keys, args...)
	if sha != lua.Restore.Hash() || cmd.Err() != nil {
		return cmd
	}
	if plan, ok := args[0].([]byte); ok && bytes.HasPrefix(plan, []byte(`["restore"`)) && l.calls.Add(1)%2 == 0 {
		cmd.SetErr(io.ErrUnexpectedEOF)
	}
	return cmd
}

// Each admission of a large journal is restored once, though the connection breaks between its batches again and again.
func TestInterruptedRecoveryRestoresEachAdmissionOnce(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	data, line := memory.NewData(memory.DataOptions{}), &losing{Away: storetest.Away{Scripter: client}}
	fallback := memory.New(data, memory.Options{Options: store.Options{Owner: "a", DeadLetters: 100}, KeepResults: true})
	s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
		Replicas: 1, Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyOpen}, ProbeEvery: 10 * time.Millisecond,
		Fallback: fallback, FallbackOutbox: fallback,
	})
	b := storetest.Fixture{Limiter: s}
	l := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(100)}
	sent := 0
	line.Away.Away.Store(true)
	for i := range 60 {
		require.Equal(t, storetest.Admitted, b.AdmitOne(t, l.Large(nil, fmt.Sprint(i), "a")).Outcome)
	}
	for ; sent < 20; sent++ {
		claim, err := fallback.Claim(t.Context(), storetest.Queue, store.Terms{Pace: store.Pace{Burst: 1}}, false)
		require.NoError(t, err)
		if sent%2 == 0 {
			require.NoError(t, fallback.Ack(t.Context(), storetest.Queue, claim.Entry, store.Receipt{}))
			continue
		}
		require.NoError(t, fallback.Bury(t.Context(), storetest.Queue, claim.Entry, store.DeadReason{Reason: "no"}))
	}
	line.Away.Away.Store(false)
	awaitUp(t, s)
	require.Greater(t, line.calls.Load(), int64(8), "in several batches")
	require.Equal(t, store.Ledger{Received: 60, Admitted: 60, Delivered: 10, Failed: 10, Pending: 40}, b.MustReport(t).Ledger)
	other := redisstore.New(client, redisstore.Options{Options: store.Options{Owner: "b"}})
	letters, err := other.DeadLetters(t.Context(), storetest.Queue, "", 50)
	require.NoError(t, err)
	require.Len(t, letters, 10)
}
