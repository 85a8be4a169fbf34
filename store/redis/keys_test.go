package redis_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

func TestRefusalsWriteNothingToTheLevels(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := storetest.Fixture{Limiter: redisstore.New(client, redisstore.Options{})}
	for i := range 4 {
		b.MustAdmit(t, storetest.Small.Request(fmt.Sprint(i), "a"))
	}
	before, err := redistest.Dump(t.Context(), client, "relay:*:limit:*")
	require.NoError(t, err)
	require.Len(t, before, 2)
	require.NoError(t, client.PExpire(t.Context(), "relay:{alerts}:limit:sliding-log:channel", 5*time.Second).Err())
	for i := range 20 {
		require.Equal(t, "-", storetest.Outcomes(b.MustAdmit(t, storetest.Small.Request(fmt.Sprint("more", i), "a"))))
	}
	after, err := redistest.Dump(t.Context(), client, "relay:*:limit:*")
	require.NoError(t, err)
	require.Equal(t, before, after)
	ttl := client.PTTL(t.Context(), "relay:{alerts}:limit:sliding-log:channel").Val()
	require.LessOrEqual(t, ttl, 5*time.Second, "a refusal never touches a TTL")
}

func TestEveryKeyButTotalsAndOutboxExpires(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	shared := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{})
	b := storetest.Fixture{Limiter: shared}
	fair := storetest.Small.Request("1", "a")
	fair.Fairness = &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}
	b.MustAdmit(t, fair)
	require.NoError(t, b.Refund(t.Context(), storetest.Scope, fair))
	for i := range 9 { // until the cache knows the category to be closed
		fair.ID = fmt.Sprint("more", i)
		b.MustAdmit(t, fair)
	}
	require.NoError(t, shared.Flush(t.Context()))
	_, err := b.Statuses(t.Context(), []store.StatusQuery{{Channel: storetest.Scope, Level: fair.Levels[0], Longest: time.Hour}})
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
		"relay:due":                                          -1,
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
	b := storetest.Fixture{Limiter: redisstore.New(client, redisstore.Options{})}
	window := storetest.PerMinute(100)
	for i := range 100 {
		b.MustAdmit(t, storetest.Limits{Channel: window, Category: window}.Request(fmt.Sprintf("%040d", i), "a"))
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
	b := storetest.Fixture{Limiter: redisstore.New(client, redisstore.Options{})}
	b.MustAdmit(t, storetest.Small.Request("1", "a"))
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	require.Equal(t, "=+", storetest.Outcomes(b.MustAdmit(t, storetest.Small.Request("1", "a"), storetest.Small.Request("2", "a"))))
}

func TestAbsentRedisIsUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Reserve(t)
	l := redisstore.New(server.Client(), redisstore.Options{})
	_, err := l.Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.ErrorIs(t, l.Ping(t.Context()), ratelimit.ErrUnavailable)

	server.Up()
	require.NoError(t, l.Ping(t.Context()))
	answer, err := l.Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
	require.NoError(t, err)
	require.Equal(t, "+", storetest.Outcomes(answer.Decisions))
}

func TestTimeoutAfterTheCommitChargesOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	hearing := storetest.Fixture{Limiter: redisstore.New(server.Client(), redisstore.Options{})}
	hearing.MustAdmit(t, storetest.Small.Request("0", "other")) // so that EVALSHA knows the script

	var ears atomic.Bool
	deaf := redisstore.New(storetest.DeafClient(t, server, &ears), redisstore.Options{})
	require.NoError(t, deaf.Ping(t.Context()))
	ears.Store(true)
	batch := []store.Request{
		storetest.Small.Request("1", "a"), storetest.Small.Request("2", "a"), storetest.Small.Request("3", "a"),
		storetest.Small.Request("4", "a"),
	}
	_, err := deaf.Admit(t.Context(), storetest.Scope, batch)
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.Eventually(t, func() bool { return hearing.MustReport(t).Ledger.Received == 5 }, 5*time.Second, time.Millisecond)

	require.Equal(t, "===-", storetest.Outcomes(hearing.MustAdmit(t, batch...)))
	require.Equal(t, store.Ledger{Received: 9, Admitted: 4, Dropped: 2, Duplicate: 3, Pending: 4}, hearing.MustReport(t).Ledger)
}

func TestCorruptedCounterShowsInTheLedger(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := storetest.Fixture{Limiter: redisstore.New(client, redisstore.Options{})}
	b.MustAdmit(t, storetest.Small.Request("1", "a"), storetest.Small.Request("2", "a"), storetest.Small.Request("3", "a"),
		storetest.Small.Request("4", "a"))
	require.Zero(t, b.MustReport(t).Ledger.Imbalance())
	for i, field := range []string{"received", "admitted", "dropped", "delivered"} {
		require.NoError(t, client.HIncrBy(t.Context(), "relay:{alerts}:ledger:alerts", field, 2).Err())
		require.NotZero(t, b.MustReport(t).Ledger.Imbalance(), "%d %s", i, field)
		require.NoError(t, client.HIncrBy(t.Context(), "relay:{alerts}:ledger:alerts", field, -2).Err())
	}
	require.NoError(t, client.ZRem(t.Context(), "relay:{alerts}:outbox:alerts", "2").Err())
	require.Equal(t, int64(1), b.MustReport(t).Ledger.Imbalance(), "an entry lost from the outbox shows")
}

func TestKeyOfAnotherTypeIsAnError(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	require.NoError(t, client.Set(t.Context(), "relay:{alerts}:limit:sliding-log:channel", "x", 0).Err())
	_, err := redisstore.New(client, redisstore.Options{}).
		Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
	require.ErrorContains(t, err, "WRONGTYPE")
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
}

// The line in the header of lua/admit.lua, as a person would type it.
func TestAdmitScriptRunsByHandWithRedisCLI(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	host, port, err := net.SplitHostPort(server.Addr)
	require.NoError(t, err)
	var got string
	for i := 1; i <= 10; i++ {
		cli := exec.CommandContext(t.Context(), "redis-cli", "-h", host, "-p", port, "--eval", "../../lua/admit.lua",
			"relay:{demo}:seen:demo", "relay:{demo}:ledger:demo", "relay:{demo}:series:demo:0",
			"relay:{demo}:outbox:demo", "relay:{demo}:entries:demo", "relay:{demo}:minutes:demo:0",
			"relay:due", "relay:{demo}:limit:sliding-log:channel", "relay:{demo}:limit:sliding-log:category:demo:errors", ",",
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

func TestScriptRejectsInvalidArgumentsBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	source := redisstore.New(client, redisstore.Options{})
	_, err := source.Admit(t.Context(), storetest.Scope, []store.Request{storetest.Small.Request("1", "a")}) // loads the script
	require.NoError(t, err)
	before, err := redistest.Dump(t.Context(), client, "*")
	require.NoError(t, err)
	keys := []string{"s", "l", "r", "o", "e", "minutes", "due", "level"}
	const plan = `["admit",1000,[["sliding-log",0,0,10,1000]],[["a",0,0,1]]]`
	for name, args := range map[string][]any{
		"nothing":          {},
		"no JSON":          {"x", "id", 1, 1, ""},
		"unknown mode":     {`["take",1000,[["sliding-log",0,0,10,1000]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"no dedupe time":   {`["admit",0,[["sliding-log",0,0,10,1000]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"no windows":       {`["admit",1000,[["sliding-log",0,0]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"half a window":    {`["admit",1000,[["sliding-log",0,0,10]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"limit no number":  {`["admit",1000,[["sliding-log",0,0,"ten",1000]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"limit below 0":    {`["admit",1000,[["sliding-log",0,0,-1,1000]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"window no number": {`["admit",1000,[["sliding-log",0,0,10,"long"]],[["a",0,0,1]]]`, "id", 1, 1, ""},
		"window below 0":   {`["admit",1000,[["sliding-log",0,0,10,-1]],[["a",0,0,1]]]`, "id", 1, 1, ""},
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
		err := client.EvalSha(t.Context(), lua.Admit.Hash(), keys, args...).Err()
		require.ErrorContains(t, err, "ARG ", name)
	}
	after, err := redistest.Dump(t.Context(), client, "*")
	require.NoError(t, err)
	require.Equal(t, before, after)
}
