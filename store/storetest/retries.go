package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var retriesBehaviours = []behaviour{
	{"RetryPausesEverySender", testRetryPausesEverySender},
	{"RetryOnlyLengthensAPause", testRetryOnlyLengthensAPause},
	{"FaultsAreCounted", testFaultsAreCounted},
	{"PauseStopsAChannelUntilItEnds", testPauseStopsAChannelUntilItEnds},
}

func testRetryPausesEverySender(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 2)
	entry := ClaimEntry(t, b.A)
	require.NoError(t, b.A.Retry(t.Context(), Scope, entry, store.RetryPlan{Wait: 30 * time.Second, Reason: "rate_limited"}))
	for _, o := range []store.Queue{b.A, b.B} {
		paused := Claim(t, o, Unpaced)
		require.Equal(t, store.Paused, paused.State)
		require.Equal(t, 30*time.Second, paused.Wait)
	}
	report := b.BalancedReport(t)
	require.Equal(t, 30*time.Second, report.PausedFor)
	require.Equal(t, "rate_limited", report.PauseReason)

	b.Advance(30 * time.Second)
	again := ClaimEntry(t, b.B)
	require.Equal(t, "1 of 2", string(again.Payload), "the order is kept")
	require.Equal(t, int64(1), again.Attempts)
	require.Equal(t, int64(0), again.Faults)
	require.Equal(t, time.Duration(0), b.BalancedReport(t).PausedFor)
}

func testRetryOnlyLengthensAPause(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	entry := ClaimEntry(t, b.A)
	require.NoError(t, b.A.Retry(t.Context(), Scope, entry, store.RetryPlan{Wait: time.Minute, Reason: "long"}))
	require.NoError(t, b.A.Retry(t.Context(), Scope, entry, store.RetryPlan{Wait: time.Second, Reason: "short"}))
	require.Equal(t, "long", b.BalancedReport(t).PauseReason)
	require.NoError(t, b.A.Retry(t.Context(), Scope, store.Entry{Number: 4711}, store.RetryPlan{Wait: time.Hour, Reason: "gone"}))
	require.Equal(t, time.Minute, b.BalancedReport(t).PausedFor, "an entry that is gone pauses nothing")
}

func testFaultsAreCounted(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	for i := range 3 {
		entry := ClaimEntry(t, b.A)
		require.Equal(t, int64(i), entry.Attempts)
		require.Equal(t, int64(i), entry.Faults)
		require.NoError(t, b.A.Retry(t.Context(), Scope, entry, store.RetryPlan{Fault: true}))
	}
}

func testPauseStopsAChannelUntilItEnds(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	require.NoError(t, b.A.Pause(t.Context(), Scope, time.Hour, "by hand"))
	held := Claim(t, b.B, Unpaced)
	require.Equal(t, store.Paused, held.State)
	require.Equal(t, time.Hour, held.Wait)
	report := b.BalancedReport(t)
	require.Equal(t, time.Hour, report.PausedFor)
	require.Equal(t, "by hand", report.PauseReason)
	require.NoError(t, b.B.Pause(t.Context(), Scope, time.Minute, "shorter"))
	require.Equal(t, time.Minute, Claim(t, b.A, Unpaced).Wait, "the last word counts")
	require.NoError(t, b.A.Pause(t.Context(), Scope, 0, ""))
	ClaimEntry(t, b.A)
	require.NoError(t, b.A.Pause(t.Context(), Scope, time.Minute, "again"))
	b.Advance(time.Minute)
	ClaimEntry(t, b.A)
}
