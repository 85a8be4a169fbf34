package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
)

func TestTheDeadLettersKeepWhatMatters(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{a: redisstore.New(client, redisstore.Options{Options: ownedByA}), limiter: redisstore.New(client, redisstore.Options{})}
	b.fill(t, 3)
	for range 3 {
		require.NoError(t, b.a.Bury(t.Context(), channel, claimed(t, b.a), store.DeadReason{Reason: "is_archived", Answer: "gone"}))
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
	b := bundle{a: redisstore.New(client, redisstore.Options{Options: ownedByA}), limiter: redisstore.New(client, redisstore.Options{})}
	b.fill(t, 1)
	require.NoError(t, b.a.Retry(t.Context(), channel, claimed(t, b.a), store.RetryPlan{Fault: true}))
	require.NoError(t, b.a.Ack(t.Context(), channel, claimed(t, b.a), store.Receipt{}))
	require.Equal(t, map[string]string{"seq": "1"}, client.HGetAll(t.Context(), "relay:{alerts}:entries:alerts").Val())
}

func TestLeaseAndPauseExpire(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{a: redisstore.New(client, redisstore.Options{Options: ownedByA}), limiter: redisstore.New(client, redisstore.Options{})}
	b.fill(t, 1)
	c := claim(t, b.a, store.Terms{Pace: store.Pace{Every: time.Second, Burst: 3}})
	lease := client.PTTL(t.Context(), "relay:{alerts}:lease:alerts").Val()
	require.InDelta(t, 11*time.Second, lease, float64(2*time.Second))
	require.Positive(t, client.PTTL(t.Context(), "relay:{alerts}:pace:alerts").Val())
	require.NoError(t, b.a.Retry(t.Context(), channel, c.Entry, store.RetryPlan{Wait: time.Minute, Reason: "x"}))
	require.Positive(t, client.PTTL(t.Context(), "relay:{alerts}:pause:alerts").Val())
	require.Zero(t, client.Exists(t.Context(), "relay:{alerts}:lease:alerts").Val())
}

func TestAnEntryThatIsNotOursIsHandedOverWithoutAKind(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{a: redisstore.New(client, redisstore.Options{Options: ownedByA}), limiter: redisstore.New(client, redisstore.Options{})}
	b.fill(t, 1)
	require.NoError(t, client.HSet(t.Context(), "relay:{alerts}:entries:alerts", "1", "garbage").Err())
	entry := claimed(t, b.a)
	require.Empty(t, entry.Kind)
	require.Equal(t, "garbage", string(entry.Payload))
}

// Whatever stands where an entry should be can be settled: a claim and a settlement read the same name of it.
func TestAnEntryThatIsNotOursCanBeSettled(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{a: redisstore.New(client, redisstore.Options{Options: ownedByA}), limiter: redisstore.New(client, redisstore.Options{})}
	strange := []string{
		"", " ", "garbage", "12", "12 garbage", "12  x", "12 a\tb x", "12 a\nb x", "0 message x", "007 message x", "-5 message x", "+5 message x",
		"1.5 message x", "999999999999999999 message x", "1000000000000000000 message x", "99999999999999999999 message x", "1e3 message x",
	}
	b.fill(t, 2*len(strange))
	for i, text := range strange {
		for n := range 2 {
			require.NoError(t, client.HSet(t.Context(), "relay:{alerts}:entries:alerts", 2*i+n+1, text).Err())
		}
		entry := claimed(t, b.a)
		require.NoError(t, b.a.Retry(t.Context(), channel, entry, store.RetryPlan{Fault: true}))
		again := claimed(t, b.a)
		require.Equal(t, []int64{entry.Number, 1}, []int64{again.Number, again.Faults}, "%q", text)
		require.NoError(t, b.a.Bury(t.Context(), channel, again, store.DeadReason{Reason: "undecodable"}))
		require.NoError(t, b.a.Ack(t.Context(), channel, claimed(t, b.a), store.Receipt{}))
		require.EqualValues(t, 2*(len(strange)-i-1), b.report(t).Ledger.Pending, "%q", text)
	}
}

// All keys of every script are in one slot: on a Redis Cluster, each call of the way of an event succeeds.
func TestEveryScriptStaysInOneSlot(t *testing.T) {
	t.Parallel()
	client := redistest.StartClusterNode(t).Client()
	require.Error(t, client.Eval(t.Context(), "return 1", []string{"relay:{a}:x", "relay:{b}:x"}).Err(), "two slots are refused")

	b := bundle{a: redisstore.New(client, redisstore.Options{Options: ownedByA}), limiter: redisstore.New(client, redisstore.Options{})}
	b.fill(t, 3)
	require.NoError(t, b.a.Retry(t.Context(), channel, claimed(t, b.a), store.RetryPlan{}))
	require.NoError(t, b.a.Ack(t.Context(), channel, claimed(t, b.a), store.Receipt{}))
	require.NoError(t, b.a.Bury(t.Context(), channel, claimed(t, b.a), store.DeadReason{Reason: "x"}))
	require.NoError(t, b.a.Release(t.Context(), channel))
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 1, Failed: 1, Pending: 1}, b.report(t).Ledger)
	_, err := b.limiter.Categories(t.Context(), scope)
	require.NoError(t, err)
	b.drop(t, "c", 1)
	require.NoError(t, b.a.Digest(t.Context(), channel, store.DigestTerms{Interval: time.Microsecond, Minimum: 1}))
	require.NoError(t, b.a.Append(t.Context(), channel, "1", store.KindNotice, []byte("{}")))
	copied := store.Channel{Group: "alerts", Name: "alerts~fallback"}
	require.NoError(t, b.a.Bury(t.Context(), channel, claimed(t, b.a), store.DeadReason{Reason: "x", CopyTo: &copied}))
	_, err = b.a.Delayed(t.Context(), channel)
	require.NoError(t, err)
	_, err = b.a.PostedMessage(t.Context(), channel, 1)
	require.NoError(t, err)
	letters, err := b.a.DeadLetters(t.Context(), channel, "", 1)
	require.NoError(t, err)
	_, err = b.a.DeleteDead(t.Context(), channel, letters[0].ID)
	require.NoError(t, err)
	_, err = b.a.Renew(t.Context(), channel)
	require.NoError(t, err)
	budget, _ := b.a.(store.Budget)
	_, _, err = budget.ReserveCall(t.Context(), "ws", store.MethodPost, 1)
	require.NoError(t, err)
	require.NoError(t, budget.PauseCredential(t.Context(), "ws", "x", time.Second))
	_, err = b.limiter.Drops(t.Context(), scope, "", 1)
	require.NoError(t, err)
	_, err = store.UsageOf(t.Context(), b.limiter, scope, []ratelimit.Level{
		store.NewChannelLevel("alerts", ratelimit.Window{Limit: 1, Per: time.Hour}),
		store.NewLevel(scope, "category", "c", ratelimit.Window{Limit: 1, Per: time.Hour}),
	})
	require.NoError(t, err)
}

func TestRedisAway(t *testing.T) {
	t.Parallel()
	o := redisstore.New(redistest.Reserve(t).Client(), redisstore.Options{Options: ownedByA})
	_, err := o.Claim(t.Context(), channel, unpaced, false)
	require.ErrorContains(t, err, "claim from channel alerts")
	for verb, err := range map[string]error{
		"ack":     o.Ack(t.Context(), channel, store.Entry{Number: 1}, store.Receipt{}),
		"retry":   o.Retry(t.Context(), channel, store.Entry{Number: 1}, store.RetryPlan{}),
		"bury":    o.Bury(t.Context(), channel, store.Entry{Number: 1}, store.DeadReason{}),
		"release": o.Release(t.Context(), channel),
	} {
		require.ErrorContains(t, err, verb+" in channel alerts")
		require.NotErrorIs(t, err, store.ErrLeaseLost)
	}
}
