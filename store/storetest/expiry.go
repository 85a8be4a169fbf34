package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var expiryBehaviours = []behaviour{
	{"StaleMessagesSpendNoPace", testStaleMessagesSpendNoPace},
	{"ResolveIsNotExpiredWithItsFiring", testResolveIsNotExpiredWithItsFiring},
}

func testStaleMessagesSpendNoPace(t *testing.T, start Start) {
	b := start(t)
	terms := store.Terms{Pace: store.Pace{Every: time.Minute, Burst: 1}, TTL: time.Hour}
	b.Fill(t, 3)
	b.Advance(time.Hour + time.Second)
	for range 3 {
		c := Claim(t, b.A, terms)
		require.Equal(t, store.Stale, c.State)
		require.NoError(t, b.A.Expire(t.Context(), Scope, c.Entry, map[string]int64{"x:c:info": 1, "t:old": 1}))
	}
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Expired: 3}, b.BalancedReport(t).Ledger)
	b.Advance(time.Second)
	require.Equal(t, store.DigestDue, Claim(t, b.A, store.Terms{
		Pace:   terms.Pace,
		Digest: store.DigestTerms{Interval: time.Hour, EditEvery: time.Second, Minimum: 3},
	}).State)
}

// A resolve that replaces its firing after that was claimed as stale does not expire with it.
func testResolveIsNotExpiredWithItsFiring(t *testing.T, start Start) {
	b := start(t)
	terms := store.Terms{Pace: store.Pace{Burst: 1}, TTL: time.Minute}
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post"}
	admit := func(status store.Status) {
		_, err := b.Admit(t.Context(), Scope, []store.Request{{
			Request: ratelimit.Request{
				ID:       string(status),
				Category: "c",
				Levels:   []ratelimit.Level{ChannelLevel("alerts", ratelimit.Window{Limit: 5, Per: time.Hour})},
			},
			Policy:  h,
			Event:   store.Event{Status: status, Fingerprint: "f"},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(status)},
		}})
		require.NoError(t, err)
	}
	admit(store.Firing)
	b.Advance(time.Hour)
	stale := Claim(t, b.A, terms)
	require.Equal(t, store.Stale, stale.State)
	admit(store.Resolved)
	require.NoError(t, b.A.Expire(t.Context(), Scope, stale.Entry, nil))
	c := Claim(t, b.A, terms)
	require.Equal(t, store.Claimed, c.State)
	require.Equal(t, "resolved", string(c.Entry.Payload))
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Superseded: 1, Pending: 1}, b.BalancedReport(t).Ledger)
}
