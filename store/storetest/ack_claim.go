package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var ackClaimBehaviours = []behaviour{
	{"AckClaimDeliversOneAndClaimsTheNext", testAckClaimDeliversOneAndClaimsTheNext},
	{"AckClaimKeepsThePace", testAckClaimKeepsThePace},
	{"AckClaimLooks", testAckClaimLooks},
	{"AckClaimIsFenced", testAckClaimIsFenced},
	{"RepeatedAckClaimCountsOnce", testRepeatedAckClaimCountsOnce},
	{"UnansweredAckClaimDeliveredOneAndSentNothing", testUnansweredAckClaimDeliveredOneAndSentNothing},
	{"AckClaimLeavesTheNewEntryOfAReusedNumber", testAckClaimLeavesTheNewEntryOfAReusedNumber},
	{"ClaimTellsWhetherMoreWaits", testClaimTellsWhetherMoreWaits},
}

// ackClaim acknowledges an entry, and claims the next one.
func ackClaim(t *testing.T, o store.Queue, entry store.Entry, terms store.Terms) store.Claim {
	t.Helper()
	c, err := o.AckClaim(t.Context(), Scope, delivered(entry), terms, false)
	require.NoError(t, err)
	return c
}

func delivered(entry store.Entry) store.Delivery {
	return store.Delivery{Entry: entry, Receipt: store.Receipt{Channel: "C1", TS: "1.000001"}}
}

func testAckClaimDeliversOneAndClaimsTheNext(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	first := ClaimEntry(t, b.A)
	b.Advance(4 * time.Second)
	before := time.Now()
	next := ackClaim(t, b.A, first, Unpaced)
	require.Equal(t, store.Claimed, next.State)
	require.Equal(t, "2 of 2", string(next.Entry.Payload))
	require.Zero(t, next.Entry.Attempts)
	require.WithinRange(t, next.Until, before.Add(10*time.Second), time.Now().Add(10*time.Second))
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Pending: 1}, b.BalancedReport(t).Ledger)
	b.Advance(9 * time.Second)
	require.Equal(t, store.Leased, Claim(t, b.B, Unpaced).State, "the lease is renewed")
	require.Equal(t, store.Empty, ackClaim(t, b.A, next.Entry, Unpaced).State)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, b.BalancedReport(t).Ledger)
	b.Fill(t, 3)
	ClaimEntry(t, b.B) // at once: the empty outbox ended the lease
}

func testAckClaimKeepsThePace(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	paced := store.Terms{Pace: store.Pace{Every: 3 * time.Second, Burst: 1}}
	next := ackClaim(t, b.A, Claim(t, b.A, paced).Entry, paced)
	require.Equal(t, store.Paced, next.State)
	require.Equal(t, 3*time.Second, next.Wait)
	b.requireDueIn(t, store.WorkSend, 3*time.Second)
}

func testAckClaimLooks(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	look, err := b.A.AckClaim(t.Context(), Scope, delivered(ClaimEntry(t, b.A)), Unpaced, true)
	require.NoError(t, err)
	require.Equal(t, store.PostReady, look.State)
	require.Equal(t, int64(1), b.BalancedReport(t).Ledger.Delivered)
	require.Equal(t, "2 of 2", string(ClaimEntry(t, b.A).Payload))
}

func testAckClaimIsFenced(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	entry := ClaimEntry(t, b.A)
	b.Advance(10 * time.Second)
	ClaimEntry(t, b.B)
	before := b.Snapshot(t)
	_, err := b.A.AckClaim(t.Context(), Scope, delivered(entry), Unpaced, false)
	require.ErrorIs(t, err, store.ErrLeaseLost)
	require.Equal(t, before, b.Snapshot(t), "nothing is claimed either")
}

func testRepeatedAckClaimCountsOnce(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	first := ClaimEntry(t, b.A)
	next := ackClaim(t, b.A, first, Lookable).Entry
	require.NoError(t, b.A.Ack(t.Context(), Scope, first, store.Receipt{}))
	require.Equal(t, store.AwaitingLookup, ackClaim(t, b.A, first, Lookable).State, "the next one may have been sent")
	require.Equal(t, store.Empty, ackClaim(t, b.A, next, Lookable).State)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, b.BalancedReport(t).Ledger)
}

// The sender did not get the next entry, so that it certainly did not send it.
func testUnansweredAckClaimDeliveredOneAndSentNothing(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	first := ClaimEntry(t, b.A)
	_, err := b.A.AckClaim(&unanswered{Context: t.Context()}, Scope, delivered(first), Lookable, false)
	require.Error(t, err)
	require.NoError(t, b.A.Ack(t.Context(), Scope, first, store.Receipt{}), "a repeat is harmless")
	next := Claim(t, b.A, Lookable)
	require.Equal(t, store.Claimed, next.State)
	require.Equal(t, "2 of 2", string(next.Entry.Payload))
	require.True(t, next.Entry.UnknownSince.IsZero())
	require.Equal(t, int64(1), b.BalancedReport(t).Ledger.Delivered)
}

func testAckClaimLeavesTheNewEntryOfAReusedNumber(t *testing.T, start Start) {
	for kind, extra := range map[string]bool{"message": false, "extra": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			old, where := b.reused(t, extra)
			before := b.BalancedReport(t).Ledger
			next, err := b.A.AckClaim(t.Context(), where, delivered(old), Lookable, false)
			require.NoError(t, err)
			require.Equal(t, store.AwaitingLookup, next.State, "the new entry is the next one")
			require.Equal(t, before, b.BalancedReport(t).Ledger)
			b.Advance(Lookable.LookupDelay)
			require.Equal(t, "new", string(Claim(t, b.B, Lookable).Entry.Payload))
		})
	}
}

func testClaimTellsWhetherMoreWaits(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	first := Claim(t, b.A, Unpaced)
	require.True(t, first.More, "another message")
	last := ackClaim(t, b.A, first.Entry, Unpaced)
	require.False(t, last.More)
	require.NoError(t, b.A.Retry(t.Context(), Scope, last.Entry, store.RetryPlan{}))
	require.NoError(t, b.A.Append(t.Context(), Scope, "1", store.KindNotice, []byte("1")))
	again := Claim(t, b.A, Unpaced)
	require.True(t, again.More, "an extra")
	require.False(t, ackClaim(t, b.A, again.Entry, Unpaced).More)
}
