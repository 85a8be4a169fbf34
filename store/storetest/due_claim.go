package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

// After each claim, the channel is due when its state ends: not a microsecond before.
func testClaimNotesWhenItsStateEnds(t *testing.T, start Start) {
	paced := store.Terms{Pace: store.Pace{Every: 7 * time.Second, Burst: 1}, TTL: 5 * time.Second}
	for _, row := range []struct {
		name    string
		terms   store.Terms
		look    bool
		before  func(t *testing.T, b Fixture)
		state   store.ClaimState
		dueIn   time.Duration
		claimer int
	}{
		{"empty", Unpaced, false, func(*testing.T, Fixture) {}, store.Empty, -1, 0},
		{"claimed", Unpaced, false, func(t *testing.T, b Fixture) { t.Helper(); b.Fill(t, 1) }, store.Claimed, 10 * time.Second, 0},
		{"ready", Unpaced, true, func(t *testing.T, b Fixture) { t.Helper(); b.Fill(t, 1) }, store.PostReady, time.Second, 0},
		{"leased", Unpaced, false, func(t *testing.T, b Fixture) {
			t.Helper()
			b.Fill(t, 1)
			ClaimEntry(t, b.A)
			b.Advance(4 * time.Second)
		}, store.Leased, 6 * time.Second, 1},
		{"paused", Unpaced, false, func(t *testing.T, b Fixture) {
			t.Helper()
			b.Fill(t, 1)
			require.NoError(t, b.A.Retry(t.Context(), Scope, ClaimEntry(t, b.A), store.RetryPlan{Wait: 33 * time.Second}))
		}, store.Paused, 33 * time.Second, 0},
		{"uncertain", Lookable, false, func(t *testing.T, b Fixture) {
			t.Helper()
			b.Fill(t, 1)
			require.NoError(t, b.A.Retry(t.Context(), Scope, ClaimEntry(t, b.A), store.RetryPlan{State: store.MaybePosted}))
		}, store.AwaitingLookup, 10 * time.Second, 0},
		{"paced", store.Terms{Pace: paced.Pace}, false, sendPaced(paced), store.Paced, 7 * time.Second, 0},
		{"paced until it is too old", paced, false, sendPaced(paced), store.Paced, 5*time.Second + time.Microsecond, 0},
		{"paced until an extra is due", store.Terms{Pace: paced.Pace}, false, func(t *testing.T, b Fixture) {
			t.Helper()
			postpone(t, b, 3*time.Second)
			sendPaced(paced)(t, b)
		}, store.Paced, 3 * time.Second, 0},
		{
			"empty but for a later extra", Unpaced, false, func(t *testing.T, b Fixture) { t.Helper(); postpone(t, b, time.Minute) },
			store.Empty, time.Minute, 0,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			row.before(t, b)
			claim, err := b.sender(row.claimer).Claim(t.Context(), Scope, row.terms, row.look)
			require.NoError(t, err)
			require.Equal(t, row.state, claim.State)
			b.requireDueIn(t, store.WorkSend, row.dueIn)
		})
	}
}

// sendPaced sends one of two messages, so that the other has to wait for the pace.
func sendPaced(terms store.Terms) func(t *testing.T, b Fixture) {
	return func(t *testing.T, b Fixture) {
		t.Helper()
		b.Fill(t, 2)
		require.NoError(t, b.A.Ack(t.Context(), Scope, Claim(t, b.A, terms).Entry, store.Receipt{}))
	}
}

// postpone appends an extra that is due after a time.
func postpone(t *testing.T, b Fixture, d time.Duration) {
	t.Helper()
	require.NoError(t, b.A.Append(t.Context(), Scope, "later", store.KindNotice, []byte("{}")))
	entry := ClaimEntry(t, b.A)
	require.Equal(t, store.KindNotice, entry.Kind)
	require.NoError(t, b.A.Retry(t.Context(), Scope, entry, store.RetryPlan{Wait: d, Waits: store.EntryWaits}))
}
