package redis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

func TestDeadLettersKeepReasonAnswerAndEntry(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := onServer(client)
	b.Fill(t, 3)
	for range 3 {
		require.NoError(t, b.A.Bury(t.Context(), storetest.Scope, storetest.ClaimEntry(t, b.A),
			store.DeadReason{Reason: "is_archived", Answer: "gone"}))
	}
	letters := client.XRange(t.Context(), "relay:{alerts}:dead:alerts", "-", "+").Val()
	require.Len(t, letters, 2, "the oldest went")
	last := letters[1].Values
	require.Equal(t, "3", last["number"])
	require.Equal(t, "is_archived", last["reason"])
	require.Equal(t, "gone", last["answer"])
	require.Equal(t, "1", last["attempts"])
	require.Contains(t, last["entry"], " message 3 of 3")
}

func TestNothingOfASettledEntryStays(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := onServer(client)
	b.Fill(t, 1)
	require.NoError(t, b.A.Retry(t.Context(), storetest.Scope, storetest.ClaimEntry(t, b.A), store.RetryPlan{Fault: true}))
	require.NoError(t, b.A.Ack(t.Context(), storetest.Scope, storetest.ClaimEntry(t, b.A), store.Receipt{}))
	require.Equal(t, map[string]string{"seq": "1"}, client.HGetAll(t.Context(), "relay:{alerts}:entries:alerts").Val())
}

func TestLeaseAndPauseExpire(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := onServer(client)
	b.Fill(t, 1)
	c := storetest.Claim(t, b.A, store.Terms{Pace: store.Pace{Every: time.Second, Burst: 3}})
	lease := client.PTTL(t.Context(), "relay:{alerts}:lease:alerts").Val()
	require.InDelta(t, 11*time.Second, lease, float64(2*time.Second))
	require.Positive(t, client.PTTL(t.Context(), "relay:{alerts}:pace:alerts").Val())
	require.NoError(t, b.A.Retry(t.Context(), storetest.Scope, c.Entry, store.RetryPlan{Wait: time.Minute, Reason: "x"}))
	require.Positive(t, client.PTTL(t.Context(), "relay:{alerts}:pause:alerts").Val())
	require.Zero(t, client.Exists(t.Context(), "relay:{alerts}:lease:alerts").Val())
}

func TestForeignEntryIsClaimedWithoutAKind(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := onServer(client)
	b.Fill(t, 1)
	require.NoError(t, client.HSet(t.Context(), "relay:{alerts}:entries:alerts", "1", "garbage").Err())
	entry := storetest.ClaimEntry(t, b.A)
	require.Empty(t, entry.Kind)
	require.Equal(t, "garbage", string(entry.Payload))
}

// Whatever stands where an entry should be can be settled: a claim and a settlement read the same name of it.
func TestForeignEntryCanBeSettled(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := onServer(client)
	strange := []string{
		"", " ", "garbage", "12", "12 garbage", "12  x", "12 a\tb x", "12 a\nb x", "0 message x", "007 message x", "-5 message x", "+5 message x",
		"1.5 message x", "999999999999999999 message x", "1000000000000000000 message x", "99999999999999999999 message x", "1e3 message x",
	}
	b.Fill(t, 2*len(strange))
	for i, text := range strange {
		for n := range 2 {
			require.NoError(t, client.HSet(t.Context(), "relay:{alerts}:entries:alerts", 2*i+n+1, text).Err())
		}
		entry := storetest.ClaimEntry(t, b.A)
		require.NoError(t, b.A.Retry(t.Context(), storetest.Scope, entry, store.RetryPlan{Fault: true}))
		again := storetest.ClaimEntry(t, b.A)
		require.Equal(t, entry.Number, again.Number, "%q", text)
		require.Equal(t, int64(1), again.Faults, "%q", text)
		require.NoError(t, b.A.Bury(t.Context(), storetest.Scope, again, store.DeadReason{Reason: "undecodable"}))
		require.NoError(t, b.A.Ack(t.Context(), storetest.Scope, storetest.ClaimEntry(t, b.A), store.Receipt{}))
		require.EqualValues(t, 2*(len(strange)-i-1), b.BalancedReport(t).Ledger.Pending, "%q", text)
	}
}

func TestErrorsOfAnAbsentRedisNameTheCall(t *testing.T) {
	t.Parallel()
	o := redisstore.New(redistest.Reserve(t).Client(), redisstore.Options{Options: storetest.SenderA})
	_, err := o.Claim(t.Context(), storetest.Scope, storetest.Unpaced, false)
	require.ErrorContains(t, err, "claim from channel alerts")
	for verb, err := range map[string]error{
		"ack":     o.Ack(t.Context(), storetest.Scope, store.Entry{Number: 1}, store.Receipt{}),
		"retry":   o.Retry(t.Context(), storetest.Scope, store.Entry{Number: 1}, store.RetryPlan{}),
		"bury":    o.Bury(t.Context(), storetest.Scope, store.Entry{Number: 1}, store.DeadReason{}),
		"release": o.Release(t.Context(), storetest.Scope),
	} {
		require.ErrorContains(t, err, verb+" in channel alerts")
		require.NotErrorIs(t, err, store.ErrLeaseLost)
	}
}
