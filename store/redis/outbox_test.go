package redis_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
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

// Keys of senders are kept for as long as they matter, and up to a second longer.
func TestKeysOfSendersExpire(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := onServer(client)
	begin := time.Now()
	b.Fill(t, 3)
	claim := func(terms store.Terms) store.Entry {
		return storetest.Claim(t, b.A, terms).Entry
	}
	first := claim(store.Terms{Pace: store.Pace{Every: time.Minute, Burst: 9}})
	_, err := b.A.Renew(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.GreaterOrEqual(t, client.PTTL(t.Context(), "relay:{alerts}:lease:alerts").Val(), 11*time.Second-time.Since(begin)-time.Millisecond)
	require.NoError(t, b.A.Ack(t.Context(), storetest.Scope, first, store.Receipt{}))
	second := claim(store.Terms{Pace: store.Pace{Every: time.Minute, Burst: 9}})
	require.NoError(t, b.A.Retry(t.Context(), storetest.Scope, second, store.RetryPlan{State: store.MaybePosted}))
	lookups := storetest.Lookable
	lookups.LookupDelay = time.Hour
	require.Equal(t, store.AwaitingLookup, storetest.Claim(t, b.A, lookups).State)
	require.NoError(t, b.A.Append(t.Context(), storetest.Scope, "notice", store.KindNotice, []byte("{}")))
	_, err = b.A.ReserveCalls(t.Context(), "ws", store.Calls{Method: store.MethodPost, PerMinute: 2, N: 1})
	require.NoError(t, err)
	require.NoError(t, b.A.PauseCredential(t.Context(), "paused", "x", time.Hour))
	want := map[string]time.Duration{
		"relay:{alerts}:pace:alerts":                   2*time.Minute + time.Second,
		"relay:{alerts}:pause:alerts":                  time.Hour + time.Second,
		"relay:{alerts}:noted:alerts":                  24 * time.Hour,
		lua.WorkspaceOf("ws").Budget(store.MethodPost): 31 * time.Second,
		lua.WorkspaceOf("paused").Pause():              time.Hour + time.Second,
	}
	for key, expected := range want {
		left := client.PTTL(t.Context(), key).Val()
		require.LessOrEqual(t, left, expected, key)
		require.GreaterOrEqual(t, left, expected-time.Since(begin)-time.Millisecond, key)
	}
}

// Delayed events count with their bytes until the last of them has left.
func TestBytesOfDelayedEventsAreThoseThatWait(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := onServer(client)
	h := &store.MessagePolicy{Overflow: "delay", Resolves: "post", MaxDelayed: 9, MaxDelay: time.Hour}
	closed := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	requests := make([]store.Request, 3)
	for i, id := range []string{"1", "2", "3"} {
		requests[i] = closed.AlertRequest(h, id, "c", "", "")
	}
	b.MustAdmit(t, requests...)
	bytes := func() string { return client.HGet(t.Context(), "relay:{alerts}:entries:alerts", "delayed").Val() }
	const each = len(`1700000000000000 message {"id":"2"}`)
	require.Equal(t, strconv.Itoa(2*each), bytes())
	open := storetest.Limits{Channel: storetest.PerMinute(9), Category: storetest.PerMinute(9)}
	for i, left := range []string{strconv.Itoa(each), ""} {
		r := open.AlertRequest(h, requests[i+1].ID, "c", "", "")
		require.Equal(t, store.Admitted, b.PromoteOne(t, r, int64(i+2)).Outcome)
		require.Equal(t, left, bytes())
	}
}

func TestSingleDeadLetterIsKept(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := onServer(client)
	one := redisstore.New(client, redisstore.Options{Options: store.Options{Owner: "one", DeadLetters: 1}})
	b.Fill(t, 2)
	for range 2 {
		require.NoError(t, one.Bury(t.Context(), storetest.Scope, storetest.ClaimEntry(t, one), store.DeadReason{Reason: "no"}))
	}
	letters, err := one.DeadLetters(t.Context(), storetest.Scope, "", 9)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, int64(2), letters[0].Number)
}

// Work that is in the due index without any delayed event, as after a loss of data, is removed from it.
func TestListOfNoDelayedEventsEndsTheWork(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := onServer(client)
	work := storetest.Scope.Keys().Work(string(store.WorkPromote))
	require.NoError(t, client.ZAdd(t.Context(), lua.DueIndex, redis.Z{Score: 1, Member: work}).Err())
	all, err := b.A.Delayed(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Empty(t, all)
	require.Zero(t, client.ZCard(t.Context(), lua.DueIndex).Val())
}
