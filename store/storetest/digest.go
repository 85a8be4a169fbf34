package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var digestBehaviours = []behaviour{
	{"DigestGrowsUntilItsIntervalEnds", testDigestGrowsUntilItsIntervalEnds},
	{"DigestOfAWebhookIsPostedAtTheEnd", testDigestOfAWebhookIsPostedAtTheEnd},
	{"DigestCountsStatusesAndLevelsApart", testDigestCountsStatusesAndLevelsApart},
}

// DropForDigest drops n events of a category, which the digest counts.
func (b Fixture) DropForDigest(t *testing.T, category string, n int) {
	t.Helper()
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true}
	for i := range n {
		_, err := b.Admit(t.Context(), Scope, []store.Request{{
			Request: ratelimit.Request{
				ID:       category + string(rune('a'+i)),
				Category: category,
				Levels:   []ratelimit.Level{Level(Scope, "closed", "x", ratelimit.Window{Limit: 0, Per: time.Hour})},
			},
			Policy:  h,
			Event:   store.Event{Severity: "error", Title: category},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte("{}")},
		}})
		require.NoError(t, err)
	}
}

func digestOf(t *testing.T, e store.Entry) store.Digest {
	t.Helper()
	var d store.Digest
	require.NoError(t, json.Unmarshal(e.Payload, &d))
	return d
}

// With a bot token, the digest is posted at the first drop, edited with absolute totals, and closed at the end of its interval;
// later drops belong to the next one. Any replica may ask for it at any time.
func testDigestGrowsUntilItsIntervalEnds(t *testing.T, start Start) {
	b := start(t)
	terms := store.Terms{Pace: store.Pace{Burst: 1}, Digest: store.DigestTerms{
		Interval: 10 * time.Minute, EditEvery: 30 * time.Second,
		Minimum: 1,
	}}
	ask := func() {
		for _, o := range []store.Queue{b.A, b.B, b.A} {
			require.NoError(t, o.Digest(t.Context(), Scope, terms.Digest))
		}
	}
	send := func() store.Entry {
		e := Claim(t, b.A, terms).Entry
		require.NoError(t, b.A.Ack(t.Context(), Scope, e, store.Receipt{Channel: "C1", TS: "1.000001"}))
		return e
	}
	b.DropForDigest(t, "disk", 2)
	ask()
	require.Equal(t, store.Empty, Claim(t, b.A, terms).State, "it waits a moment for more drops")
	b.Advance(10 * time.Second)
	require.Equal(t, store.DigestDue, Claim(t, b.A, terms).State)
	ask()
	b.DropForDigest(t, "cpu", 1)
	ask()
	require.Equal(t, store.KindDigest, Claim(t, b.A, terms).Entry.Kind, "not yet edited: 30 s have not passed")
	post := send()
	require.Equal(t, map[string]int64{"d:disk:error::never": 2, "t:disk": 2}, digestOf(t, post).Counts)
	require.Equal(t, []string{"disk"}, digestOf(t, post).Silent)
	record, err := b.A.PostedMessage(t.Context(), Scope, post.Number)
	require.NoError(t, err)
	require.Equal(t, "1.000001", record.TS)
	require.Equal(t, digestOf(t, post).From, record.From)

	b.Advance(30 * time.Second)
	ask()
	b.Advance(30 * time.Second)
	b.DropForDigest(t, "disk", 5)
	b.Advance(time.Second)
	ask()
	edit := send()
	require.Equal(t, store.KindDigestEdit, edit.Kind)
	require.Equal(t, int64(7), digestOf(t, edit).Counts["d:disk:error::never"], "absolute totals, in one edit")
	require.Equal(t, int64(1), digestOf(t, edit).Counts["d:cpu:error::never"], "absolute totals, in one edit")
	require.Equal(t, post.Number, digestOf(t, edit).Post, "absolute totals, in one edit")
	require.False(t, digestOf(t, edit).Closed, "absolute totals, in one edit")

	b.Advance(10 * time.Minute)
	ask()
	require.True(t, digestOf(t, send()).Closed)
	require.Equal(t, store.Empty, Claim(t, b.A, terms).State)
	b.DropForDigest(t, "late", 1)
	b.Advance(10 * time.Second)
	ask()
	next := send()
	require.Equal(t, store.KindDigest, next.Kind)
	require.NotEqual(t, digestOf(t, post).ID, digestOf(t, next).ID)
}

// With an incoming webhook, there is one post at the end of the interval, if enough was dropped.
func testDigestOfAWebhookIsPostedAtTheEnd(t *testing.T, start Start) {
	b := start(t)
	terms := store.Terms{Pace: store.Pace{Burst: 1}, Digest: store.DigestTerms{Interval: 10 * time.Minute, Minimum: 3}}
	b.DropForDigest(t, "disk", 4)
	b.Advance(10*time.Minute - time.Second)
	require.NoError(t, b.A.Digest(t.Context(), Scope, terms.Digest))
	require.Equal(t, store.Empty, Claim(t, b.A, terms).State)
	b.Advance(time.Second)
	require.Equal(t, store.DigestDue, Claim(t, b.B, terms).State)
	require.NoError(t, b.A.Digest(t.Context(), Scope, terms.Digest))
	require.NoError(t, b.B.Digest(t.Context(), Scope, terms.Digest))
	e := Claim(t, b.B, terms).Entry
	require.Equal(t, int64(4), digestOf(t, e).Counts["d:disk:error::never"])
	require.True(t, digestOf(t, e).Closed)
	record, err := b.B.PostedMessage(t.Context(), Scope, e.Number)
	require.NoError(t, err)
	require.Nil(t, record, "nothing edits it")
	require.NoError(t, b.B.Ack(t.Context(), Scope, e, store.Receipt{}))

	b.DropForDigest(t, "cpu", 2)
	b.Advance(10 * time.Minute)
	require.NoError(t, b.A.Digest(t.Context(), Scope, terms.Digest))
	require.Equal(t, store.Empty, Claim(t, b.A, terms).State, "fewer drops than the minimum")
}

// A digest says which level refused, and counts each status apart.
func testDigestCountsStatusesAndLevelsApart(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true}
	l := Limits{Channel: PerMinute(2), Category: PerMinute(1)}
	require.Equal(t, "+-+--", Outcomes(b.MustAdmit(t,
		l.AlertRequest(h, "1", "disk", store.Firing, "f1"), l.AlertRequest(h, "2", "disk", store.Firing, "f2"),
		l.AlertRequest(h, "4", "cpu", store.Firing, "f3"), l.AlertRequest(h, "5", "net", store.Firing, "f4"),
		l.AlertRequest(h, "6", "net", "", ""))))
	for range 2 {
		require.NoError(t, b.A.Ack(t.Context(), Scope, ClaimEntry(t, b.A), store.Receipt{}))
	}
	counts := b.digestAtTheEnd(t).Counts
	require.Equal(t, int64(1), counts["d:disk:error:firing:category"])
	require.Equal(t, int64(1), counts["d:net:error:firing:channel"])
	require.Equal(t, int64(1), counts["d:net:error::channel"])
}
