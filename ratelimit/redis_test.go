package ratelimit_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

var small = limits{channel: perMinute(10), category: perMinute(3)}

func TestRefusalsWriteNothingToTheLevels(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{Limiter: ratelimit.NewRedis(client, ratelimit.RedisOptions{})}
	for i := range 4 {
		b.admit(t, small.request(fmt.Sprint(i), "a"))
	}
	before, err := redistest.Dump(t.Context(), client, "relay:*:limit:*")
	require.NoError(t, err)
	require.Len(t, before, 2)
	require.NoError(t, client.PExpire(t.Context(), "relay:{alerts}:limit:sliding-log:channel", 5*time.Second).Err())
	for i := range 20 {
		require.Equal(t, "-", outcomes(b.admit(t, small.request(fmt.Sprint("more", i), "a"))))
	}
	after, err := redistest.Dump(t.Context(), client, "relay:*:limit:*")
	require.NoError(t, err)
	require.Equal(t, before, after)
	ttl := client.PTTL(t.Context(), "relay:{alerts}:limit:sliding-log:channel").Val()
	require.LessOrEqual(t, ttl, 5*time.Second, "a refusal never touches a TTL")
}

func TestEveryKeyButTheTotalsAndTheOutboxExpires(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	shared := share(t, ratelimit.NewRedis(client, ratelimit.RedisOptions{}), ratelimit.SharedOptions{})
	b := bundle{Limiter: shared}
	fair := small.request("1", "a")
	fair.Fairness = &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}
	b.admit(t, fair)
	require.NoError(t, b.Refund(t.Context(), scope, fair))
	for i := range 9 { // until the cache knows the category to be closed
		fair.ID = fmt.Sprint("more", i)
		b.admit(t, fair)
	}
	require.NoError(t, shared.Flush(t.Context()))
	_, err := b.Warming(t.Context(), scope, []ratelimit.Tier{{Name: "channel", Windows: fair.Levels[0].Windows}})
	require.NoError(t, err)
	shared.SetLevels(fair.Levels)
	beating, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	shared.Run(beating)
	want := map[string]time.Duration{
		"relay:{alerts}:limit:sliding-log:channel":           2 * time.Minute,
		"relay:{alerts}:limit:sliding-log:category:alerts:a": 2 * time.Minute,
		"relay:{alerts}:seen:alerts":                         time.Hour + time.Minute,
		"relay:{alerts}:ledger:alerts":                       -1,
		"relay:{alerts}:outbox:alerts":                       -1,
		"relay:{alerts}:entries:alerts":                      -1,
		"relay:{alerts}:known:alerts":                        24*time.Hour + time.Minute,
		"relay:{alerts}:heard:alerts":                        2 * time.Minute,
		"relay:{alerts}:folds:alerts":                        25 * time.Hour,
		"relay:{alerts}:refunds:alerts":                      time.Hour,
		"relay:{alerts}:windows:alerts":                      62 * 24 * time.Hour,
		"relay:{replicas}:alive":                             9 * time.Second,
		"relay:{replicas}:epoch":                             30 * 24 * time.Hour,
		"relay:{replicas}:levels":                            9 * time.Second,
		"relay:{replicas}:texts":                             9 * time.Second,
	}
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		ttl := client.PTTL(t.Context(), key).Val()
		expected, ok := want[key]
		if strings.HasPrefix(key, "relay:{alerts}:series:alerts:") || strings.HasPrefix(key, "relay:{alerts}:minutes:alerts:") {
			expected, ok = 25*time.Hour, true
		}
		require.True(t, ok, "unexpected key %s", key)
		require.InDelta(t, expected, ttl, float64(10*time.Second), key)
	}
	require.Len(t, keys, len(want)+2)
}

func TestMembersStayCompact(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{Limiter: ratelimit.NewRedis(client, ratelimit.RedisOptions{})}
	window := perMinute(100)
	for i := range 100 {
		b.admit(t, limits{window, window}.request(fmt.Sprintf("%040d", i), "a"))
	}
	key := "relay:{alerts}:limit:sliding-log:channel"
	require.Equal(t, "listpack", client.ObjectEncoding(t.Context(), key).Val())
	for _, member := range client.ZRange(t.Context(), key, 0, -1).Val() {
		require.LessOrEqual(t, len(member), 64)
	}
}

func TestScriptsSurviveAFlush(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{Limiter: ratelimit.NewRedis(client, ratelimit.RedisOptions{})}
	b.admit(t, small.request("1", "a"))
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	require.Equal(t, "=+", outcomes(b.admit(t, small.request("1", "a"), small.request("2", "a"))))
}

func TestAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Reserve(t)
	l := ratelimit.NewRedis(server.Client(), ratelimit.RedisOptions{})
	_, err := l.Admit(t.Context(), scope, []ratelimit.Request{small.request("1", "a")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.ErrorIs(t, l.Ping(t.Context()), ratelimit.ErrUnavailable)

	server.Up()
	require.NoError(t, l.Ping(t.Context()))
	d, err := l.Admit(t.Context(), scope, []ratelimit.Request{small.request("1", "a")})
	require.NoError(t, err)
	require.Equal(t, "+", outcomes(d))
}

// deafClient reaches the server and, once deaf is set, no longer hears its answers: the call commits, the
// caller cannot know.
func deafClient(t *testing.T, server *redistest.Server, deaf *atomic.Bool) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: 200 * time.Millisecond,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return deafConn{conn, deaf}, err
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

type deafConn struct {
	net.Conn
	deaf *atomic.Bool
}

func (c deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.deaf.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

func TestATimeoutAfterTheCommitChargesOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	hearing := bundle{Limiter: ratelimit.NewRedis(server.Client(), ratelimit.RedisOptions{})}
	hearing.admit(t, small.request("0", "other")) // so that EVALSHA knows the script

	var ears atomic.Bool
	deaf := ratelimit.NewRedis(deafClient(t, server, &ears), ratelimit.RedisOptions{})
	require.NoError(t, deaf.Ping(t.Context()))
	ears.Store(true)
	batch := []ratelimit.Request{small.request("1", "a"), small.request("2", "a"), small.request("3", "a"), small.request("4", "a")}
	_, err := deaf.Admit(t.Context(), scope, batch)
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.Eventually(t, func() bool { return hearing.report(t).Ledger.Received == 5 }, 5*time.Second, time.Millisecond)

	require.Equal(t, "===-", outcomes(hearing.admit(t, batch...)))
	require.Equal(t, ratelimit.Ledger{Received: 9, Admitted: 4, Dropped: 2, Duplicate: 3, Pending: 4}, hearing.report(t).Ledger)
}

func TestACorruptedCounterShows(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := bundle{Limiter: ratelimit.NewRedis(client, ratelimit.RedisOptions{})}
	b.admit(t, small.request("1", "a"), small.request("2", "a"), small.request("3", "a"), small.request("4", "a"))
	require.Zero(t, b.report(t).Ledger.Imbalance())
	for i, field := range []string{"received", "admitted", "dropped", "delivered"} {
		require.NoError(t, client.HIncrBy(t.Context(), "relay:{alerts}:ledger:alerts", field, 2).Err())
		require.NotZero(t, b.report(t).Ledger.Imbalance(), "%d %s", i, field)
		require.NoError(t, client.HIncrBy(t.Context(), "relay:{alerts}:ledger:alerts", field, -2).Err())
	}
	require.NoError(t, client.ZRem(t.Context(), "relay:{alerts}:outbox:alerts", "2").Err())
	require.Equal(t, int64(1), b.report(t).Ledger.Imbalance(), "an entry lost from the outbox shows")
}

func TestAKeyOfAnotherTypeIsAnError(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	require.NoError(t, client.Set(t.Context(), "relay:{alerts}:limit:sliding-log:channel", "x", 0).Err())
	_, err := ratelimit.NewRedis(client, ratelimit.RedisOptions{}).
		Admit(t.Context(), scope, []ratelimit.Request{small.request("1", "a")})
	require.ErrorContains(t, err, "WRONGTYPE")
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
}

// The line in the header of lua/admit.lua, as a person would type it.
func TestByHandWithRedisCLI(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	host, port, err := net.SplitHostPort(server.Addr)
	require.NoError(t, err)
	var got string
	for i := 1; i <= 10; i++ {
		cli := exec.CommandContext(t.Context(), "redis-cli", "-h", host, "-p", port, "--eval", "../lua/admit.lua",
			"relay:{demo}:seen:demo", "relay:{demo}:ledger:demo", "relay:{demo}:series:demo:0",
			"relay:{demo}:outbox:demo", "relay:{demo}:entries:demo", "relay:{demo}:minutes:demo:0",
			"relay:{demo}:limit:sliding-log:channel", "relay:{demo}:limit:sliding-log:category:demo:errors", ",",
			`["admit",3600000000,[["sliding-log",0,0,10,60000000],["sliding-log",0,0,3,60000000]],[["errors",0,2,1,2]]]`,
			fmt.Sprint("event-", i), "1", "1", `message {"title":"disk full"}`)
		out, err := cli.CombinedOutput()
		require.NoError(t, err, "%s", out)
		lines := strings.Fields(string(out))
		require.Len(t, lines, 13, "%s", out)
		got += lines[2]
	}
	require.Equal(t, "1112222222", got, "3 admitted, 7 dropped, in that order")
}

func TestTheScriptRefusesBadArguments(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	source := ratelimit.NewRedis(client, ratelimit.RedisOptions{})
	_, err := source.Admit(t.Context(), scope, []ratelimit.Request{small.request("1", "a")}) // loads the script
	require.NoError(t, err)
	before, err := redistest.Dump(t.Context(), client, "*")
	require.NoError(t, err)
	keys := []string{"s", "l", "r", "o", "e", "level"}
	const plan = `["admit",1000,[["sliding-log",0,0,10,1000]],[["a",0,0,1]]]`
	for name, args := range map[string][]any{
		"nothing":          {},
		"no JSON":          {"x", "id", 1, 1, ""},
		"unknown mode":     {`["take",1000,[["sliding-log",0,0,10,1000]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"no dedupe time":   {`["admit",0,[["sliding-log",0,0,10,1000]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"no windows":       {`["admit",1000,[["sliding-log",0,0]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"half a window":    {`["admit",1000,[["sliding-log",0,0,10]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"limit no number":  {`["admit",1000,[["sliding-log",0,0,"ten",1000]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"window of 0":      {`["admit",1000,[["sliding-log",0,0,10,0]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"unknown strategy": {`["admit",1000,[["guess",0,0,10,1000]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"too many levels":  {`["admit",1000,[["gate",0,0,10,1000],["gate",0,0,10,1000]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"no fold":          {`["restore",1000,[],[["a",0,0]],{}]`, "id", 1, 1, ""},
		"no events":        {plan},
		"half an event":    {plan, "id", 1},
		"unknown route":    {plan, "id", 1, 2, ""},
		"no id":            {plan, "", 1, 1, ""},
		"long id":          {plan, strings.Repeat("x", 41), 1, 1, ""},
		"0 units":          {plan, "id", 0, 1, ""},
		"bad second event": {plan, "id", 1, 1, "", "id2", "x", 1, ""},
	} {
		err := client.EvalSha(t.Context(), admitHash, keys, args...).Err()
		require.ErrorContains(t, err, "ARG ", name)
	}
	after, err := redistest.Dump(t.Context(), client, "*")
	require.NoError(t, err)
	require.Equal(t, before, after)
}
