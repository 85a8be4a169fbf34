package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var forcedBehaviours = []behaviour{
	{"ForcedRequestTakesNoUnit", testForcedRequestTakesNoUnit},
	{"ForcedEventIsAttachedToItsMessage", testForcedEventIsAttachedToItsMessage},
}

// A forced request passes full limits, is queued, counted and remembered as any admission, and takes no unit of any level.
func testForcedRequestTakesNoUnit(t *testing.T, start Start) {
	for _, row := range strategyTable {
		strategy := row.variants[0].Strategy
		t.Run(string(row.kind), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			for name, h := range map[string]*store.MessagePolicy{
				"alone": nil, "drop": {Overflow: "drop", Resolves: "edit", Repeats: true},
				"delay": {Overflow: "delay", Resolves: "post", MaxDelayed: 1, MaxDelay: time.Minute}, "merge": {Overflow: "merge", Resolves: "post"},
			} {
				t.Run(name, func(t *testing.T) {
					forceOverFullLimits(t, b, store.Channel{Group: name, Name: name}, strategy, h)
				})
			}
		})
	}
}

func forceOverFullLimits(t *testing.T, b Fixture, own store.Channel, strategy ratelimit.Strategy, h *store.MessagePolicy) {
	t.Helper()
	request := func(id string) store.Request {
		tier := ratelimit.LevelSpec{Name: "channel", Strategy: strategy, Windows: []ratelimit.Window{PerMinute(2)}}
		return store.Request{
			Request: ratelimit.Request{
				ID:       id,
				Category: "c",
				Levels:   []ratelimit.Level{store.ChannelLevel(tier, own.Group)},
			},
			Policy: h, Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)},
		}
	}
	force := func(id string) store.Outcome {
		answer, err := b.Force(t.Context(), own, []store.Request{request(id)})
		require.NoError(t, err)
		return answer.Decisions[0].Outcome
	}
	for _, id := range []string{"1", "2", "3", "4"} {
		_, err := b.Admit(t.Context(), own, []store.Request{request(id)})
		require.NoError(t, err)
	}
	before, err := store.UsageOf(t.Context(), b, own, request("x").Levels)
	require.NoError(t, err)
	normal, err := b.Report(t.Context(), own)
	require.NoError(t, err)
	require.Equal(t, store.Admitted, force("forced"))
	require.Equal(t, store.Duplicate, force("forced"))
	after, err := store.UsageOf(t.Context(), b, own, request("x").Levels)
	require.NoError(t, err)
	require.Equal(t, before, after, "it takes no unit")
	report, err := b.Report(t.Context(), own)
	require.NoError(t, err)
	require.Zero(t, report.Ledger.Imbalance())
	n := normal.Ledger.Admitted
	require.Less(t, n, int64(3))
	require.Equal(t, int64(1), report.Ledger.Forced)
	require.Equal(t, n+1, report.Ledger.Admitted)
	require.Equal(t, n+1, report.Ledger.Pending)
}

// A resolve can be forced although its firing was not posted; where it was, the resolve is attached to it. A repeat is counted on
// its message.
func testForcedEventIsAttachedToItsMessage(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
	force := func(id string, status store.Status, fingerprint string) store.Outcome {
		answer, err := b.Force(t.Context(), Scope, []store.Request{narrow.AlertRequest(h, id, "c", status, fingerprint)})
		require.NoError(t, err)
		return answer.Decisions[0].Outcome
	}
	require.Equal(t, store.Suppressed, b.AdmitOne(t, narrow.AlertRequest(h, "1", "c", store.Resolved, "f")).Outcome)
	require.Equal(t, store.Admitted, force("2", store.Resolved, "f"))
	require.Equal(t, store.Admitted, force("3", store.Firing, "g"))
	require.Equal(t, store.Merged, force("4", store.Firing, "g"))
	require.Equal(t, store.Admitted, force("5", store.Resolved, "g"), "it takes the place of the one that waits")
	require.Equal(t, store.Ledger{Received: 5, Admitted: 3, Dropped: 1, Merged: 1, Superseded: 1, Pending: 2, Forced: 2},
		b.MustReport(t).Ledger)
	require.Zero(t, b.Usage(t, narrow.Request("x", "c")))
}
