package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// A batch of counts that was merged before is not decoded.
func TestBatchThatWasMergedBeforeIsNotDecoded(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	keys := []string{
		"relay:{a}:ledger:a", "relay:{a}:series:a:0", "relay:{a}:folds:a", "relay:{a}:drops:a", "relay:{a}:digest:a", "relay:{a}:minutes:a:0",
		lua.DueIndex,
	}
	require.Equal(t, int64(1), lua.MergeCounts.Run(t.Context(), client, keys, "replica-1", 1, `{"totals":{"received":1}}`).Val())
	answer, err := lua.MergeCounts.Run(t.Context(), client, keys, "replica-1", 1, `{"totals":{"received":`).Int64()
	require.NoError(t, err)
	require.Zero(t, answer)
	require.ErrorContains(t, lua.MergeCounts.Run(t.Context(), client, keys, "replica-1", 2, `{"totals":{"received":`).Err(), "ARG")
}

// Only an admission moves what lies ahead, so only an admission reports the step.
func TestPeekReportsNoClockStep(t *testing.T) {
	t.Parallel()
	for _, s := range storetest.TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			clocked := redistest.NewClocked(t, redistest.Start(t).Client(), storetest.StartTime)
			var steps []time.Duration
			b := storetest.Fixture{Limiter: redisstore.New(clocked, redisstore.Options{
				Now: clocked.Now, ClockStepped: func(_ string, by time.Duration) { steps = append(steps, by) },
			})}
			tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{storetest.PerMinute(1)}}
			request := func(id string) store.Request {
				return store.Request{Request: ratelimit.Request{ID: id, Levels: []ratelimit.Level{store.ChannelLevel(tier, "steps")}}}
			}
			b.MustAdmit(t, request("1"))
			clocked.Advance(-time.Hour)
			for range 3 {
				_, err := b.Peek(t.Context(), storetest.Scope, []store.Request{request("2")})
				require.NoError(t, err)
			}
			require.Empty(t, steps)
			for range 3 {
				b.MustAdmit(t, request("2"))
			}
			require.Equal(t, []time.Duration{time.Hour}, steps, "moved and reported once, by how far the clock went back")
		})
	}
}

func TestARefundRefusesBadArguments(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for name, args := range map[string][]any{
		"no units":               {"id", "", 1000, "sliding-log", 0},
		"0 units":                {"id", 0, 1000, "sliding-log", 0},
		"no time to remember it": {"id", 1, 0, "sliding-log", 0},
		"no option":              {"id", 1, 1000, "sliding-log", ""},
		"no strategy":            {"id", 1, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := []string{"seen " + name, "refunds " + name, "delayed " + name, lua.DueIndex, "level " + name}
			err := lua.Refund.Run(t.Context(), client, keys, args...).Err()
			require.ErrorContains(t, err, "ARG ")
			require.Zero(t, client.Exists(t.Context(), "refunds "+name).Val())
		})
	}
}

func TestADecisionNeedsAPlan(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	keys := make([]string, 7)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
	}
	for name, row := range map[string]struct {
		keys []string
		plan string
	}{
		"no JSON": {keys, `{`}, "no list": {keys, `1`}, "too few keys": {keys[:6], `["admit",1,[],[]]`}, "no keys": {nil, `1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := lua.Admit.Run(t.Context(), client, row.keys, row.plan).Err()
			require.ErrorContains(t, err, "ARG seven keys and a plan in JSON are needed")
		})
	}
}

func TestADecisionNeedsNoLevel(t *testing.T) {
	t.Parallel()
	k := storetest.Scope.Keys()
	at := storetest.StartTime
	keys := []string{k.Seen(), k.Ledger(), k.Series(at), k.Outbox(), k.Entries(), k.Minutes(at), lua.DueIndex}
	client := redistest.Start(t).Client()
	require.NoError(t, lua.Admit.Run(t.Context(), client, keys, `["admit",1,[],[["c",0,0]],{},"",0]`, "id", 1, 1, "message {}").Err())
	require.Equal(t, int64(1), client.ZCard(t.Context(), k.Outbox()).Val())
}

func TestADigestRefusesBadArguments(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	keys := []string{"digest", "told", "extras", "entries", "posted", "aged"}
	for name, args := range map[string][]any{
		"nothing":       {},
		"no interval":   {"demo", "", 30, 1},
		"interval of 0": {"demo", 0, 30, 1},
		"no every":      {"demo", 1000, "", 1},
		"no minimum":    {"demo", 1000, 30, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, lua.PostDigest.Run(t.Context(), client, keys, args...).Err(), "ARG a channel, an interval above 0")
		})
	}
	require.NoError(t, lua.PostDigest.Run(t.Context(), client, keys, "demo", 1, 30, 1).Err(), "the shortest interval")
}
