package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var delayedBehaviours = []behaviour{
	{"DelayedMessagesAreListedInParts", testDelayedMessagesAreListedInParts},
	{"DelayedMessagesAreBoundedInNumberAndAge", testDelayedMessagesAreBoundedInNumberAndAge},
	{"OldestDelayedMessageOfEachCategoryIsListed", testOldestDelayedMessageOfEachCategoryIsListed},
	{"DelayedTooLongIsDropped", testDelayedTooLongIsDropped},
	{"DelayedEventsAreBoundedInBytes", testDelayedEventsAreBoundedInBytes},
}

// Only as many delayed messages are listed as fit into one reply.
func testDelayedMessagesAreListedInParts(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 1000, MaxDelay: time.Hour, Resolves: "post"}
	_, err := b.Admit(t.Context(), Scope, largeRequests(60, 1, h, ""))
	require.NoError(t, err)
	waiting, err := b.A.Delayed(t.Context(), Scope)
	require.NoError(t, err)
	require.Len(t, waiting, 8)
}

func testDelayedMessagesAreBoundedInNumberAndAge(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 2, MaxDelay: 90 * time.Second, Resolves: "post"}
	request := func(id, category string) store.Request { return narrow.AlertRequest(h, id, category, "", "") }
	require.Equal(t, []store.Outcome{store.Admitted, store.Admitted, store.Delayed, store.Delayed, store.Full}, OutcomesOf(b.MustAdmit(t,
		request("1", "c"), request("2", "c"), request("3", "c"), request("4", "other"), request("5", "c"))),
		"what comes later waits behind what waits")
	require.Equal(t, store.Ledger{Received: 5, Admitted: 2, Delayed: 2, Dropped: 1, Pending: 2}, b.MustReport(t).Ledger)
	again := func(id, category string, number int64) store.Outcome {
		return b.PromoteOne(t, request(id, category), number).Outcome
	}
	require.Equal(t, store.Delayed, again("3", "c", 3))
	require.Equal(t, store.Admitted, again("4", "other", 4))
	require.Equal(t, store.Duplicate, again("4", "other", 4), "another replica was first")
	b.Advance(30 * time.Second)
	b.MustAdmit(t, request("6", "c"), request("7", "c"))
	b.Advance(31 * time.Second)
	require.Equal(t, store.Admitted, again("3", "c", 3))
	b.AdmitOne(t, request("8", "c"))
	b.Advance(91 * time.Second)
	b.MustAdmit(t, request("9", "c"), request("10", "c"))
	require.Zero(t, b.MustReport(t).Ledger.Imbalance())
}

func testDelayedTooLongIsDropped(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 5, MaxDelay: 10 * time.Second, Resolves: "post", KeepDrops: 5}
	closed := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	r := closed.AlertRequest(h, "1", "c", "", "")
	b.AdmitOne(t, r)
	r = closed.AlertRequest(h, "2", "c", "", "")
	require.Equal(t, store.Delayed, b.AdmitOne(t, r).Outcome)
	b.Advance(9 * time.Second)
	require.Equal(t, store.Delayed, b.PromoteOne(t, r, 2).Outcome)
	b.Advance(2 * time.Second)
	require.Equal(t, store.Full, b.PromoteOne(t, r, 2).Outcome)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 1, Dropped: 1, Pending: 1}, b.MustReport(t).Ledger)
	drops, err := b.Drops(t.Context(), Scope, "", 5)
	require.NoError(t, err)
	require.Len(t, drops, 1)
	require.Equal(t, "full", drops[0].Level)
}

// store.Delayed events are bounded in bytes, and one that is admitted makes room.
func testDelayedEventsAreBoundedInBytes(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 1000, MaxDelay: time.Hour, Resolves: "post"}
	l := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	require.Equal(t, store.Admitted, b.AdmitOne(t, l.Large(h, "0", "c")).Outcome)
	waits := 0
	for ; b.AdmitOne(t, l.Large(h, fmt.Sprint(waits+1), "c")).Outcome == store.Delayed; waits++ {
		require.Less(t, waits, 1000)
	}
	require.InDelta(t, 8<<20/LargeEvent, waits, 2)
	b.Advance(time.Minute)
	require.Equal(t, store.Admitted, b.PromoteOne(t, l.Large(h, "1", "c"), 2).Outcome)
	after := b.MustAdmit(t, l.Large(h, "room", "c"), l.Large(h, "none", "c"))
	require.Equal(t, []store.Outcome{store.Delayed, store.Full}, OutcomesOf(after))
}

func testOldestDelayedMessageOfEachCategoryIsListed(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 1000, MaxDelay: time.Hour, Resolves: "post"}
	closed := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	b.AdmitOne(t, closed.AlertRequest(h, "first", "c", "", ""))
	for round := range 2 {
		for from := 0; from < store.MaxDelayed+20; from += 60 {
			var requests []store.Request
			for i := from; i < min(from+60, store.MaxDelayed+20); i++ {
				requests = append(requests, closed.AlertRequest(h, fmt.Sprint(round, "-", i), fmt.Sprint("c", i), "", ""))
			}
			b.MustAdmit(t, requests...)
		}
	}
	waiting, err := b.A.Delayed(t.Context(), Scope)
	require.NoError(t, err)
	require.Len(t, waiting, store.MaxDelayed)
	require.Equal(t, "c0", waiting[0].Category)
	require.JSONEq(t, `{"id":"0-0"}`, string(waiting[0].Payload))
	require.JSONEq(t, fmt.Sprintf(`{"id":"0-%d"}`, store.MaxDelayed-1), string(waiting[store.MaxDelayed-1].Payload))
}
