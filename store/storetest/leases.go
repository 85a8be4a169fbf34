package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var leasesBehaviours = []behaviour{
	{"LookClaimsNothing", testLookClaimsNothing},
	{"LeaseIsRenewedByItsOwnerOnly", testLeaseIsRenewedByItsOwnerOnly},
	{"OneSenderHoldsTheLease", testOneSenderHoldsTheLease},
	{"EntryOfAKilledSenderGoesToAnother", testEntryOfAKilledSenderGoesToAnother},
	{"SettlingIsFenced", testSettlingIsFenced},
	{"LateAckCountsWhenNobodyElseTookOver", testLateAckCountsWhenNobodyElseTookOver},
	{"ReleaseLetsAnotherSenderClaim", testReleaseLetsAnotherSenderClaim},
	{"EmptyOutboxGivesUpTheLease", testEmptyOutboxGivesUpTheLease},
	{"ClaimHasTheEndOfItsLease", testClaimHasTheEndOfItsLease},
}

// A look reports what is ready, and claims nothing.
func testLookClaimsNothing(t *testing.T, start Start) {
	b := start(t)
	look := func() store.ClaimState {
		c, err := b.A.Claim(t.Context(), Scope, Unpaced, true)
		require.NoError(t, err)
		return c.State
	}
	require.Equal(t, store.Empty, look())
	b.Fill(t, 1)
	require.Equal(t, store.PostReady, look())
	c := ClaimEntry(t, b.B)
	require.Equal(t, int64(0), c.Attempts)
	require.NoError(t, b.B.Ack(t.Context(), Scope, c, store.Receipt{}))
	require.NoError(t, b.B.Release(t.Context(), Scope))
	require.NoError(t, b.A.Append(t.Context(), Scope, "1", store.KindEdit, []byte("1")))
	require.Equal(t, store.EditReady, look())
}

func testLeaseIsRenewedByItsOwnerOnly(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	ClaimEntry(t, b.A)
	b.Advance(9 * time.Second)
	until, err := b.A.Renew(t.Context(), Scope)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(10*time.Second), until, 2*time.Second)
	b.Advance(9 * time.Second)
	require.Equal(t, store.Leased, Claim(t, b.B, Unpaced).State)
	_, err = b.B.Renew(t.Context(), Scope)
	require.ErrorIs(t, err, store.ErrLeaseLost)
}

func testOneSenderHoldsTheLease(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	require.Equal(t, "1 of 2", string(ClaimEntry(t, b.A).Payload))
	b.Advance(4 * time.Second)
	held := Claim(t, b.B, Unpaced)
	require.Equal(t, store.Leased, held.State)
	require.Equal(t, 6*time.Second, held.Wait)
	require.Equal(t, int64(2), b.BalancedReport(t).Ledger.Pending)
}

func testEntryOfAKilledSenderGoesToAnother(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	ClaimEntry(t, b.A)
	b.Advance(10 * time.Second)
	entry := ClaimEntry(t, b.B)
	require.Equal(t, "1 of 1", string(entry.Payload))
	require.Equal(t, int64(1), entry.Attempts)
	require.Equal(t, 10*time.Second, entry.Age)
}

func testSettlingIsFenced(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	entry := ClaimEntry(t, b.A)
	b.Advance(10 * time.Second)
	ClaimEntry(t, b.B)
	require.ErrorIs(t, b.A.Ack(t.Context(), Scope, entry, store.Receipt{}), store.ErrLeaseLost)
	require.ErrorIs(t, b.A.Retry(t.Context(), Scope, entry, store.RetryPlan{Wait: time.Hour}), store.ErrLeaseLost)
	require.ErrorIs(t, b.A.Bury(t.Context(), Scope, entry, store.DeadReason{}), store.ErrLeaseLost)
	require.NoError(t, b.A.Release(t.Context(), Scope))
	require.Equal(t, int64(1), b.BalancedReport(t).Ledger.Pending)
	require.Equal(t, store.Leased, Claim(t, b.A, Unpaced).State, "release does not end the lease of another")
	require.NoError(t, b.B.Ack(t.Context(), Scope, entry, store.Receipt{}))
}

func testLateAckCountsWhenNobodyElseTookOver(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	entry := ClaimEntry(t, b.A)
	b.Advance(time.Minute)
	require.NoError(t, b.A.Ack(t.Context(), Scope, entry, store.Receipt{}))
	require.NoError(t, b.A.Ack(t.Context(), Scope, entry, store.Receipt{}), "a repeat is harmless")
	require.NoError(t, b.A.Bury(t.Context(), Scope, entry, store.DeadReason{}), "so is a late burial")
	require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, b.BalancedReport(t).Ledger)
}

func testReleaseLetsAnotherSenderClaim(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	ClaimEntry(t, b.A)
	require.NoError(t, b.A.Release(t.Context(), Scope))
	ClaimEntry(t, b.B)
}

func testEmptyOutboxGivesUpTheLease(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	require.NoError(t, b.A.Ack(t.Context(), Scope, ClaimEntry(t, b.A), store.Receipt{}))
	require.Equal(t, store.Empty, Claim(t, b.A, Unpaced).State)
	_, err := b.Admit(t.Context(), Scope, []store.Request{{
		Request: ratelimit.Request{
			ID:     "next",
			Levels: []ratelimit.Level{ChannelLevel("alerts", ratelimit.Window{Limit: 9, Per: time.Hour})},
		},
		Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte("next")},
	}})
	require.NoError(t, err)
	require.Equal(t, "next", string(ClaimEntry(t, b.B).Payload), "at once, not when the lease ends")
}

func testClaimHasTheEndOfItsLease(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	before := time.Now()
	c := Claim(t, b.A, Unpaced)
	require.WithinRange(t, c.Until, before.Add(10*time.Second), time.Now().Add(10*time.Second))
}
