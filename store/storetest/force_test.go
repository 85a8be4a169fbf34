package storetest_test

import (
	"context"
	"testing"
	"time"

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

// What is forced gets past full limits, is queued, counted and remembered as any admission, and takes no unit of any level.
func TestForced(t *testing.T) {
	t.Parallel()
	for _, strategy := range []ratelimit.Strategy{
		{},
		{Kind: ratelimit.SlidingBuckets},
		{Kind: ratelimit.FixedWindow},
		{Kind: ratelimit.SlidingCounter},
		{Kind: ratelimit.GCRA, Burst: 2},
		{Kind: ratelimit.Gate},
		{Kind: ratelimit.Backlog},
	} {
		t.Run(string(strategy.Kind), func(t *testing.T) {
			t.Parallel()
			storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
				for name, h := range map[string]*store.MessagePolicy{
					"alone": nil, "drop": {Overflow: "drop", Resolves: "edit", Repeats: true},
					"delay": {Overflow: "delay", Resolves: "post", MaxDelayed: 1, MaxDelay: time.Minute}, "merge": {Overflow: "merge", Resolves: "post"},
				} {
					own := store.Channel{Group: name, Name: name}
					request := func(id string, forced bool) store.Request {
						tier := ratelimit.LevelSpec{Name: "channel", Strategy: strategy, Windows: []ratelimit.Window{storetest.PerMinute(2)}}
						return store.Request{
							ID: id, Category: "c", Levels: []ratelimit.Level{store.ChannelLevel(tier, name)}, Policy: h, Forced: forced,
							Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)},
						}
					}
					decide := func(r store.Request) store.Outcome {
						decisions, err := b.Admit(t.Context(), own, []store.Request{r})
						require.NoError(t, err)
						return decisions[0].Outcome
					}
					for _, id := range []string{"1", "2", "3", "4"} {
						decide(request(id, false))
					}
					before, err := store.UsageOf(t.Context(), b, own, request("x", false).Levels)
					require.NoError(t, err)
					normal, err := b.Report(t.Context(), own)
					require.NoError(t, err)
					require.Equal(t, []store.Outcome{storetest.Admitted, store.Duplicate}, []store.Outcome{decide(request("forced", true)), decide(request("forced", true))}, name)
					after, err := store.UsageOf(t.Context(), b, own, request("x", false).Levels)
					require.NoError(t, err)
					require.Equal(t, before, after, "%s: it takes no unit", name)
					report, err := b.Report(t.Context(), own)
					require.NoError(t, err)
					require.Zero(t, report.Ledger.Imbalance())
					n := normal.Ledger.Admitted
					require.Less(t, n, int64(3), name)
					require.Equal(t, []int64{1, n + 1, n + 1}, []int64{report.Ledger.Forced, report.Ledger.Admitted, report.Ledger.Pending}, name)
				}
			})
		})
	}
}

// A resolve of what was never told can be forced, and one of what was told edits it; a repeat is counted on its message.
func TestForcedIsFoldedWhereItsMessageIs(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
		force := func(id string, status store.Status, fingerprint string) store.Outcome {
			r := narrow.Told(h, id, "c", status, fingerprint)
			r.Forced = true
			return b.AdmitOne(t, r).Outcome
		}
		require.Equal(t, storetest.Suppressed, b.AdmitOne(t, narrow.Told(h, "1", "c", store.Resolved, "f")).Outcome)
		require.Equal(t, storetest.Admitted, force("2", store.Resolved, "f"))
		require.Equal(t, storetest.Admitted, force("3", store.Firing, "g"))
		require.Equal(t, storetest.Merged, force("4", store.Firing, "g"))
		require.Equal(t, storetest.Admitted, force("5", store.Resolved, "g"), "it takes the place of the one that waits")
		require.Equal(t, store.Ledger{Received: 5, Admitted: 3, Dropped: 1, Merged: 1, Superseded: 1, Pending: 2, Forced: 2}, b.MustReport(t).Ledger)
		require.Zero(t, b.Usage(t, narrow.Request("x", "c")))
	})
}

// What a replica knows to be closed is asked for all the same, and never together with what is not forced.
func TestForcedPassesTheCache(t *testing.T) {
	t.Parallel()
	limiter := storetest.Share(t, memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), replica.Options{})
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	decide := func(id string, forced bool) store.Outcome {
		r := l.Request(id, "c")
		r.Forced = forced
		decisions, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{r})
		require.NoError(t, err)
		return decisions[0].Outcome
	}
	require.Equal(t, []store.Outcome{storetest.Admitted, storetest.Dropped, storetest.Dropped, storetest.Admitted, storetest.Dropped},
		[]store.Outcome{decide("1", false), decide("2", false), decide("3", false), decide("4", true), decide("5", false)})
	mixed := []store.Request{l.Request("6", "c"), l.Request("7", "c")}
	mixed[1].Forced = true
	_, err := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}).Admit(t.Context(), storetest.Scope, mixed)
	require.ErrorIs(t, err, store.ErrRequest)
}

// While Redis is away nothing is forced: nobody could say that it was.
func TestNothingIsForcedWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	limiter := storetest.Share(t, redisstore.New(lua.NewConn(server.Client(), 0), redisstore.Options{}), replica.Options{
		Policies: map[string]replica.Policy{"alerts": replica.PolicyOpen}, Replicas: 1,
	})
	admit := func(id string, forced bool) error {
		r := narrow.Request(id, "c")
		r.Forced = forced
		_, err := limiter.Admit(context.WithoutCancel(t.Context()), storetest.Scope, []store.Request{r})
		return err
	}
	require.NoError(t, admit("1", false))
	server.Kill()
	require.Eventually(t, func() bool { return admit("2", false) == nil }, 10*time.Second, 20*time.Millisecond, "it goes on without Redis")
	require.ErrorIs(t, admit("3", true), store.ErrUnavailable)
}
