package storetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/store"
	"slackrelay/store/storetest"
)

// The record of drops is bounded in bytes: above that the oldest are removed, whatever their number.
func TestRecordOfDropsIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 10_000}
		l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
		b.AdmitOne(t, l.Told(h, "admitted", "c", "", ""))
		for i := range 30 {
			b.AdmitOne(t, l.Told(h, fmt.Sprint("small", i), "c", "", ""))
		}
		for i := 0; i < 640; i += 32 {
			batch := make([]store.Request, 32)
			for n := range batch {
				batch[n] = l.Large(h, fmt.Sprint("large", i+n), "c")
			}
			b.MustAdmit(t, batch...)
		}
		b.AdmitOne(t, l.Told(h, "last", "c", "", ""))
		drops, err := b.Drops(t.Context(), storetest.Scope, "", 10_000)
		require.NoError(t, err)
		bytes := 0
		for _, d := range drops {
			bytes += len(d.Payload)
		}
		require.LessOrEqual(t, bytes, 16<<20)
		require.Greater(t, bytes, 15<<20, "no more is lost than must be")
		require.JSONEq(t, `{"id":"last"}`, string(drops[0].Payload))
		require.Contains(t, string(drops[1].Payload[:20]), "large639")
		require.Contains(t, string(drops[len(drops)-1].Payload[:20]), fmt.Sprint("large", 640-len(drops)+1), "the oldest went")
	})
}

// Delayed events are bounded in bytes, and one that is admitted makes room.
func TestDelayedEventsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 1000, MaxDelay: time.Hour, Resolves: "post"}
		l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
		require.Equal(t, storetest.Admitted, b.AdmitOne(t, l.Large(h, "0", "c")).Outcome)
		waits := 0
		for ; b.AdmitOne(t, l.Large(h, fmt.Sprint(waits+1), "c")).Outcome == storetest.Delayed; waits++ {
			require.Less(t, waits, 1000)
		}
		require.InDelta(t, 8<<20/storetest.LargeEvent, waits, 2)
		b.Advance(time.Minute)
		again := l.Large(h, "1", "c")
		again.Delayed = 2 // its number
		require.Equal(t, storetest.Admitted, b.AdmitOne(t, again).Outcome)
		after := b.MustAdmit(t, l.Large(h, "room", "c"), l.Large(h, "none", "c"))
		require.Equal(t, []store.Outcome{storetest.Delayed, storetest.Full}, storetest.OutcomesOf(after))
	})
}

// Posted messages are remembered up to a number of bytes: the resolve of the oldest finds no message any more.
func TestPostedMessagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
		l := storetest.Limits{Channel: storetest.PerMinute(10_000), Category: storetest.PerMinute(10_000)}
		for i := 0; i < 1120; i += 32 {
			batch := make([]store.Request, 32)
			for n := range batch {
				batch[n] = l.Large(h, fmt.Sprint(i+n), "c")
				batch[n].Event.Status, batch[n].Event.Fingerprint = store.Firing, fmt.Sprint("f", i+n)
			}
			b.MustAdmit(t, batch...)
			b.Advance(time.Millisecond)
		}
		resolve := func(n int) store.Outcome {
			return b.AdmitOne(t, l.Told(h, fmt.Sprint("r", n), "c", store.Resolved, fmt.Sprint("f", n))).Outcome
		}
		require.Equal(t, storetest.Suppressed, resolve(0))
		require.Equal(t, storetest.Suppressed, resolve(31))
		require.Equal(t, storetest.Admitted, resolve(160), "it is remembered, and waits: its resolve takes its place")
		require.Equal(t, storetest.Admitted, resolve(1119))
	})
}

// A batch of counts that was merged before is not decoded.
func TestBatchThatWasMergedBeforeIsNotDecoded(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	keys := []string{
		"relay:{a}:ledger:a", "relay:{a}:series:a:0", "relay:{a}:folds:a", "relay:{a}:drops:a", "relay:{a}:digest:a", "relay:{a}:minutes:a:0",
	}
	require.Equal(t, int64(1), lua.MergeCounts.Run(t.Context(), client, keys, "replica-1", 1, `{"totals":{"received":1}}`).Val())
	answer, err := lua.MergeCounts.Run(t.Context(), client, keys, "replica-1", 1, `{"totals":{"received":`).Int64()
	require.NoError(t, err)
	require.Zero(t, answer)
	require.ErrorContains(t, lua.MergeCounts.Run(t.Context(), client, keys, "replica-1", 2, `{"totals":{"received":`).Err(), "ARG")
}
