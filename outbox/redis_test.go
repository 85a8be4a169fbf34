package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/outbox"
	"slackrelay/ratelimit"
)

func TestTheDeadLettersKeepWhatMatters(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{a: outbox.NewRedis(client, ownedByA), limiter: ratelimit.NewRedis(client, ratelimit.RedisOptions{})}
	b.fill(t, 3)
	for range 3 {
		require.NoError(t, b.a.Bury(t.Context(), channel, claimed(t, b.a).Number, outbox.Death{Reason: "is_archived", Answer: "gone"}))
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
	b := bundle{a: outbox.NewRedis(client, ownedByA), limiter: ratelimit.NewRedis(client, ratelimit.RedisOptions{})}
	b.fill(t, 1)
	number := claimed(t, b.a).Number
	require.NoError(t, b.a.Retry(t.Context(), channel, number, outbox.Pausing{Fault: true}))
	claimed(t, b.a)
	require.NoError(t, b.a.Ack(t.Context(), channel, number, outbox.Receipt{}))
	require.Equal(t, map[string]string{"seq": "1"}, client.HGetAll(t.Context(), "relay:{alerts}:entries:alerts").Val())
}

func TestLeaseAndPauseExpire(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{a: outbox.NewRedis(client, ownedByA), limiter: ratelimit.NewRedis(client, ratelimit.RedisOptions{})}
	b.fill(t, 1)
	c := claim(t, b.a, outbox.Terms{Pace: outbox.Pace{Every: time.Second, Burst: 3}})
	lease := client.PTTL(t.Context(), "relay:{alerts}:lease:alerts").Val()
	require.InDelta(t, 11*time.Second, lease, float64(2*time.Second))
	require.Positive(t, client.PTTL(t.Context(), "relay:{alerts}:pace:alerts").Val())
	require.NoError(t, b.a.Retry(t.Context(), channel, c.Entry.Number, outbox.Pausing{Wait: time.Minute, Reason: "x"}))
	require.Positive(t, client.PTTL(t.Context(), "relay:{alerts}:pause:alerts").Val())
	require.Zero(t, client.Exists(t.Context(), "relay:{alerts}:lease:alerts").Val())
}

func TestAnEntryThatIsNotOursIsHandedOverWithoutAKind(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{a: outbox.NewRedis(client, ownedByA), limiter: ratelimit.NewRedis(client, ratelimit.RedisOptions{})}
	b.fill(t, 1)
	require.NoError(t, client.HSet(t.Context(), "relay:{alerts}:entries:alerts", "1", "garbage").Err())
	entry := claimed(t, b.a)
	require.Empty(t, entry.Kind)
	require.Equal(t, "garbage", string(entry.Payload))
}

// All keys of every script are in one slot: on a Redis Cluster, each call of the way of an event succeeds.
func TestEveryScriptStaysInOneSlot(t *testing.T) {
	t.Parallel()
	client := redistest.StartClusterNode(t).Client()
	require.Error(t, client.Eval(t.Context(), "return 1", []string{"relay:{a}:x", "relay:{b}:x"}).Err(), "two slots are refused")

	b := bundle{a: outbox.NewRedis(client, ownedByA), limiter: ratelimit.NewRedis(client, ratelimit.RedisOptions{})}
	b.fill(t, 3)
	require.NoError(t, b.a.Retry(t.Context(), channel, claimed(t, b.a).Number, outbox.Pausing{}))
	require.NoError(t, b.a.Ack(t.Context(), channel, claimed(t, b.a).Number, outbox.Receipt{}))
	require.NoError(t, b.a.Bury(t.Context(), channel, claimed(t, b.a).Number, outbox.Death{Reason: "x"}))
	require.NoError(t, b.a.Release(t.Context(), channel))
	require.Equal(t, ratelimit.Ledger{Received: 3, Admitted: 3, Delivered: 1, Failed: 1, Pending: 1}, b.report(t).Ledger)
	_, err := b.limiter.Categories(t.Context(), scope)
	require.NoError(t, err)
	b.drop(t, "c", 1)
	require.NoError(t, b.a.Digest(t.Context(), channel, outbox.DigestTerms{Interval: time.Microsecond, Minimum: 1}))
	require.NoError(t, b.a.Put(t.Context(), channel, "1", outbox.KindNotice, []byte("{}")))
	copied := outbox.Channel{Group: "alerts", Name: "alerts~fallback"}
	require.NoError(t, b.a.Bury(t.Context(), channel, claimed(t, b.a).Number, outbox.Death{Reason: "x", Copy: &copied}))
	_, err = b.a.Delayed(t.Context(), channel)
	require.NoError(t, err)
	_, err = b.a.Record(t.Context(), channel, 1)
	require.NoError(t, err)
	letters, err := b.a.DeadLetters(t.Context(), channel, "", 1)
	require.NoError(t, err)
	_, err = b.a.DeleteDead(t.Context(), channel, letters[0].ID)
	require.NoError(t, err)
	_, err = b.a.Renew(t.Context(), channel)
	require.NoError(t, err)
	budget, _ := b.a.(outbox.Budget)
	_, _, err = budget.Take(t.Context(), "ws", outbox.MethodPost, 1)
	require.NoError(t, err)
	require.NoError(t, budget.Pause(t.Context(), "ws", "x", time.Second))
	_, err = b.limiter.Drops(t.Context(), scope, "", 1)
	require.NoError(t, err)
	_, err = ratelimit.UsageOf(t.Context(), b.limiter, scope, []ratelimit.Level{
		ratelimit.Outer("alerts", ratelimit.Window{Limit: 1, Per: time.Hour}),
		ratelimit.Inner(scope, "category", "c", ratelimit.Window{Limit: 1, Per: time.Hour}),
	})
	require.NoError(t, err)
}

func TestRedisAway(t *testing.T) {
	t.Parallel()
	o := outbox.NewRedis(redistest.Reserve(t).Client(), ownedByA)
	_, err := o.Claim(t.Context(), channel, unpaced, false)
	require.ErrorContains(t, err, "claim from channel alerts")
	for verb, err := range map[string]error{
		"settle delivered": o.Ack(t.Context(), channel, 1, outbox.Receipt{}),
		"retry":            o.Retry(t.Context(), channel, 1, outbox.Pausing{}),
		"settle failed":    o.Bury(t.Context(), channel, 1, outbox.Death{}),
		"release":          o.Release(t.Context(), channel),
	} {
		require.ErrorContains(t, err, verb+" in channel alerts")
		require.NotErrorIs(t, err, outbox.ErrLeaseLost)
	}
}
