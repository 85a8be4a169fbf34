package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var extrasBehaviours = []behaviour{
	{"EditsWaitAlone", testEditsWaitAlone},
	{"AppendAddsAnExtraOnce", testAppendAddsAnExtraOnce},
}

// An edit that must wait delays no message, and takes nothing of the pace.
func testEditsWaitAlone(t *testing.T, start Start) {
	b := start(t)
	paced := store.Terms{Pace: store.Pace{Every: time.Minute, Burst: 1}}
	require.NoError(t, b.A.Append(t.Context(), Scope, "1", store.KindEdit, []byte("7")))
	b.Advance(time.Second)
	b.Fill(t, 1)
	edit := Claim(t, b.A, paced).Entry
	require.Equal(t, store.KindEdit, edit.Kind)
	require.NoError(t, b.A.Retry(t.Context(), Scope, edit, store.RetryPlan{Waits: store.EditsWait, Wait: time.Hour}))
	message := Claim(t, b.A, paced).Entry
	require.Equal(t, "1 of 1", string(message.Payload))
	require.NoError(t, b.A.Ack(t.Context(), Scope, message, store.Receipt{}))
	require.Equal(t, store.Paused, Claim(t, b.A, paced).State)
	b.Advance(time.Hour)
	require.NoError(t, b.A.Ack(t.Context(), Scope, Claim(t, b.A, paced).Entry, store.Receipt{}))
	require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, b.BalancedReport(t).Ledger, "it is no message")
}

func testAppendAddsAnExtraOnce(t *testing.T, start Start) {
	b := start(t)
	for range 3 {
		require.NoError(t, b.A.Append(t.Context(), Scope, "paused", store.KindNotice, []byte(`{"text":"x"}`)))
	}
	c := ClaimEntry(t, b.B)
	require.Equal(t, store.KindNotice, c.Kind)
	require.JSONEq(t, `{"text":"x"}`, string(c.Payload))
	require.NoError(t, b.B.Ack(t.Context(), Scope, c, store.Receipt{}))
	require.Equal(t, store.Empty, Claim(t, b.B, Unpaced).State)
	b.Advance(25 * time.Hour)
	require.NoError(t, b.A.Append(t.Context(), Scope, "paused", store.KindNotice, []byte("{}")))
	ClaimEntry(t, b.B)
}
