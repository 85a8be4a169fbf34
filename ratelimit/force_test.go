package ratelimit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
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
			onEvery(t, func(t *testing.T, b bundle) {
				for name, h := range map[string]*ratelimit.Handling{
					"alone": nil, "drop": {Overflow: "drop", Resolves: "edit", Repeats: true},
					"delay": {Overflow: "delay", Resolves: "post", MaxDelayed: 1, MaxDelay: time.Minute}, "merge": {Overflow: "merge", Resolves: "post"},
				} {
					own := ratelimit.Scope{Group: name, Channel: name}
					request := func(id string, forced bool) ratelimit.Request {
						tier := ratelimit.Tier{Name: "channel", Strategy: strategy, Windows: []ratelimit.Window{perMinute(2)}}
						return ratelimit.Request{
							ID: id, Category: "c", Levels: []ratelimit.Level{ratelimit.ChannelLevel(tier, name)}, Handling: h, Forced: forced,
							Enqueue: &ratelimit.Enqueue{Kind: ratelimit.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)},
						}
					}
					decide := func(r ratelimit.Request) ratelimit.Outcome {
						decisions, err := b.Admit(t.Context(), own, []ratelimit.Request{r})
						require.NoError(t, err)
						return decisions[0].Outcome
					}
					for _, id := range []string{"1", "2", "3", "4"} {
						decide(request(id, false))
					}
					before, err := ratelimit.UsageOf(t.Context(), b, own, request("x", false).Levels)
					require.NoError(t, err)
					normal, err := b.Report(t.Context(), own)
					require.NoError(t, err)
					require.Equal(t, []ratelimit.Outcome{admitted, ratelimit.Duplicate}, []ratelimit.Outcome{decide(request("forced", true)), decide(request("forced", true))}, name)
					after, err := ratelimit.UsageOf(t.Context(), b, own, request("x", false).Levels)
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
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "drop", Resolves: "edit", Repeats: true}
		force := func(id string, status ratelimit.Status, fingerprint string) ratelimit.Outcome {
			r := narrow.told(h, id, "c", status, fingerprint)
			r.Forced = true
			return b.one(t, r).Outcome
		}
		require.Equal(t, suppressed, b.one(t, narrow.told(h, "1", "c", ratelimit.Resolved, "f")).Outcome)
		require.Equal(t, admitted, force("2", ratelimit.Resolved, "f"))
		require.Equal(t, admitted, force("3", ratelimit.Firing, "g"))
		require.Equal(t, merged, force("4", ratelimit.Firing, "g"))
		require.Equal(t, admitted, force("5", ratelimit.Resolved, "g"), "it takes the place of the one that waits")
		require.Equal(t, ratelimit.Ledger{Received: 5, Admitted: 3, Dropped: 1, Merged: 1, Superseded: 1, Pending: 2, Forced: 2}, b.report(t).Ledger)
		require.Zero(t, b.usage(t, narrow.request("x", "c")))
	})
}

// What a replica knows to be closed is asked for all the same, and never together with what is not forced.
func TestForcedPassesTheCache(t *testing.T) {
	t.Parallel()
	limiter := share(t, ratelimit.NewMemory(memstore.New(memstore.Options{}), 0), ratelimit.SharedOptions{})
	l := limits{channel: perMinute(1), category: perMinute(1)}
	decide := func(id string, forced bool) ratelimit.Outcome {
		r := l.request(id, "c")
		r.Forced = forced
		decisions, err := limiter.Admit(t.Context(), scope, []ratelimit.Request{r})
		require.NoError(t, err)
		return decisions[0].Outcome
	}
	require.Equal(t, []ratelimit.Outcome{admitted, dropped, dropped, admitted, dropped},
		[]ratelimit.Outcome{decide("1", false), decide("2", false), decide("3", false), decide("4", true), decide("5", false)})
	mixed := []ratelimit.Request{l.request("6", "c"), l.request("7", "c")}
	mixed[1].Forced = true
	_, err := ratelimit.NewMemory(memstore.New(memstore.Options{}), 0).Admit(t.Context(), scope, mixed)
	require.ErrorIs(t, err, ratelimit.ErrRequest)
}

// While Redis is away nothing is forced: nobody could say that it was.
func TestNothingIsForcedWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	limiter := share(t, ratelimit.NewRedis(lua.NewConn(server.Client(), 0), ratelimit.RedisOptions{}), ratelimit.SharedOptions{
		Policies: map[string]ratelimit.Policy{"alerts": ratelimit.PolicyOpen}, Replicas: 1,
	})
	admit := func(id string, forced bool) error {
		r := narrow.request(id, "c")
		r.Forced = forced
		_, err := limiter.Admit(context.WithoutCancel(t.Context()), scope, []ratelimit.Request{r})
		return err
	}
	require.NoError(t, admit("1", false))
	server.Kill()
	require.Eventually(t, func() bool { return admit("2", false) == nil }, 10*time.Second, 20*time.Millisecond, "it goes on without Redis")
	require.ErrorIs(t, admit("3", true), ratelimit.ErrUnavailable)
}
