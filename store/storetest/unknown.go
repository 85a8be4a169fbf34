package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var unknownBehaviours = []behaviour{
	{"UnknownAttemptIsLookedUpTwiceThenSentAgain", testUnknownAttemptIsLookedUpTwiceThenSentAgain},
	{"AttemptOfAKilledSenderIsUnknown", testAttemptOfAKilledSenderIsUnknown},
	{"LookupsBeginAgainAfterAnAttemptThatWasNotPosted", testLookupsBeginAgainAfterAnAttemptThatWasNotPosted},
}

// An attempt with an unknown result is looked up after the delay, again after twice the delay, and is then sent again.
func testUnknownAttemptIsLookedUpTwiceThenSentAgain(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	first := Claim(t, b.A, Lookable).Entry
	require.True(t, first.UnknownSince.IsZero())
	require.NoError(t, b.A.Retry(t.Context(), Scope, first, store.RetryPlan{State: store.MaybePosted}))
	settling := Claim(t, b.B, Lookable)
	require.Equal(t, store.AwaitingLookup, settling.State, "and nothing overtakes it")
	require.Equal(t, 10*time.Second, settling.Wait, "and nothing overtakes it")
	report := b.BalancedReport(t)
	require.Equal(t, 10*time.Second, report.PausedFor, "and it is seen")
	require.Equal(t, store.ReasonAwaitingLookup, report.PauseReason, "and it is seen")
	b.Advance(10 * time.Second)
	report = b.BalancedReport(t)
	require.Zero(t, report.PausedFor)
	require.Empty(t, report.PauseReason)
	again := Claim(t, b.B, Lookable).Entry
	require.Equal(t, first.Number, again.Number)
	require.Equal(t, int64(0), again.Lookups)
	require.Equal(t, StartTime, again.UnknownSince)
	require.Zero(t, b.BalancedReport(t).PausedFor)
	require.NoError(t, b.B.Retry(t.Context(), Scope, again, store.RetryPlan{State: store.NotFound}))
	require.Equal(t, 20*time.Second, Claim(t, b.B, Lookable).Wait)
	b.Advance(20 * time.Second)
	again = Claim(t, b.A, Lookable).Entry
	require.Equal(t, int64(1), again.Lookups)
	require.Equal(t, StartTime, again.UnknownSince)
	require.NoError(t, b.A.Retry(t.Context(), Scope, again, store.RetryPlan{State: store.SendAgain}))
	again = Claim(t, b.A, Lookable).Entry
	require.True(t, again.UnknownSince.IsZero(), "it is sent again")
	b.Advance(time.Minute)
	require.Equal(t, StartTime, Claim(t, b.B, Lookable).Entry.UnknownSince, "from the first attempt on")
}

// The attempt of a sender that was killed is unknown, unless another reports that it was not posted.
func testAttemptOfAKilledSenderIsUnknown(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	Claim(t, b.A, Lookable)
	b.Advance(10 * time.Second)
	left := Claim(t, b.B, Lookable).Entry
	require.False(t, left.UnknownSince.IsZero())
	require.NoError(t, b.B.Retry(t.Context(), Scope, left, store.RetryPlan{State: store.NotPosted}))
	require.True(t, Claim(t, b.B, Lookable).Entry.UnknownSince.IsZero())
}

// What was looked up, and then reported as not posted, has no history: its next unknown attempt is looked up from the start.
func testLookupsBeginAgainAfterAnAttemptThatWasNotPosted(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	report := func(state store.SendState) {
		claim := Claim(t, b.A, Lookable)
		require.Equal(t, store.Claimed, claim.State)
		require.NoError(t, b.A.Retry(t.Context(), Scope, claim.Entry, store.RetryPlan{State: state}))
	}
	report(store.MaybePosted)
	b.Advance(10 * time.Second)
	report(store.NotFound)
	b.Advance(20 * time.Second)
	report(store.NotPosted)
	report(store.MaybePosted)
	require.Equal(t, store.Claim{State: store.AwaitingLookup, Wait: 10 * time.Second}, Claim(t, b.A, Lookable))
	b.Advance(10 * time.Second)
	require.Equal(t, int64(0), Claim(t, b.A, Lookable).Entry.Lookups)
}
