package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var messagesBehaviours = []behaviour{
	{"ResolveOfWhatIsNotPostedIsSuppressed", testResolveOfWhatIsNotPostedIsSuppressed},
	{"UpdateReplacesItsMessage", testUpdateReplacesItsMessage},
	{"AnswersSpendSlots", testAnswersSpendSlots},
	{"RefusedBundleDropsAllItsEvents", testRefusedBundleDropsAllItsEvents},
	{"MergeNeedsAMessageToCountOn", testMergeNeedsAMessageToCountOn},
	{"InvalidPoliciesAreRejected", testInvalidPoliciesAreRejected},
	{"DropLogIsBoundedInBytes", testDropLogIsBoundedInBytes},
	{"PostedMessagesAreBoundedInBytes", testPostedMessagesAreBoundedInBytes},
}

var narrow = Limits{Channel: PerMinute(4), Category: PerMinute(2)}

func testResolveOfWhatIsNotPostedIsSuppressed(t *testing.T, start Start) {
	for _, resolves := range []store.ResolvesPolicy{"post", "reply", "edit"} {
		t.Run(string(resolves), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			h := &store.MessagePolicy{Overflow: "drop", Resolves: resolves, KeepDrops: 10}
			require.Equal(t, []store.Outcome{store.Admitted, store.Admitted, store.Suppressed}, OutcomesOf(b.MustAdmit(t,
				narrow.AlertRequest(h, "1", "c", store.Firing, "f"),
				narrow.AlertRequest(h, "2", "c", store.Resolved, "f"), // takes its place
				narrow.AlertRequest(h, "3", "c", store.Resolved, "f"), // nothing is left that it resolves
			)))
			report := b.MustReport(t)
			require.Equal(t, store.Ledger{Received: 3, Admitted: 2, Superseded: 1, Dropped: 1, Pending: 1}, report.Ledger)
			require.Equal(t, int64(1), b.Usage(t, narrow.Request("x", "c")), "for its slot")
			require.Equal(t, store.Suppressed, b.AdmitOne(t, narrow.AlertRequest(h, "4", "c", store.Resolved, "never posted")).Outcome)
			require.Equal(t, store.Admitted, b.AdmitOne(t, narrow.AlertRequest(h, "5", "c", store.Resolved, "")).Outcome,
				"without a fingerprint, its firing cannot be found")
			drops, err := b.Drops(t.Context(), Scope, "", 10)
			require.NoError(t, err)
			require.Len(t, drops, 2)
			require.Equal(t, "suppressed", drops[0].Level)
			require.Equal(t, int64(-1), drops[0].Used)
			require.JSONEq(t, `{"id":"4"}`, string(drops[0].Payload))
		})
	}
}

// An update replaces its message: in the outbox while that waits, else by an edit.
func testUpdateReplacesItsMessage(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 10}
	require.Equal(t, []store.Outcome{store.Admitted, store.Merged, store.Suppressed}, OutcomesOf(b.MustAdmit(t,
		narrow.AlertRequest(h, "1", "c", "", "f"),
		narrow.AlertRequest(h, "2", "c", store.Update, "f"),
		narrow.AlertRequest(h, "3", "c", store.Update, "never posted"),
	)))
	require.Equal(t, store.Ledger{Received: 3, Admitted: 1, Merged: 1, Dropped: 1, Pending: 1}, b.MustReport(t).Ledger)
	require.Equal(t, store.Merged, b.AdmitOne(t, narrow.AlertRequest(h, "4", "c", store.Update, "f")).Outcome)
	require.Equal(t, int64(1), b.Usage(t, narrow.Request("x", "c")), "for no slot")
}

func testAnswersSpendSlots(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post"}
	answer := narrow.AlertRequest(h, "2", "c", "", "g")
	answer.Event.ReplyTo = "f"
	lost := narrow.AlertRequest(h, "3", "c", "", "h")
	lost.Event.ReplyTo = "never posted"
	require.Equal(t, []store.Outcome{store.Admitted, store.Admitted, store.Dropped},
		OutcomesOf(b.MustAdmit(t, narrow.AlertRequest(h, "1", "c", "", "f"), answer, lost)))
	require.Equal(t, store.Merged, b.AdmitOne(t, narrow.AlertRequest(h, "4", "c", store.Update, "g")).Outcome, "an answer can be updated too")
}

func testRefusedBundleDropsAllItsEvents(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post"}
	group := func(name string, n int) (requests []store.Request) {
		for i := range n {
			r := narrow.AlertRequest(h, fmt.Sprint(name, i), "c", store.Firing, fmt.Sprint(name, i))
			r.Event.Bundle = name
			requests = append(requests, r)
		}
		return requests
	}
	require.Equal(t, append([]store.Outcome{store.Admitted}, fill(store.Merged, 36)...), OutcomesOf(b.MustAdmit(t, group("a", 37)...)))
	require.Equal(t, append(fill(store.Duplicate, 37), store.Admitted), OutcomesOf(b.MustAdmit(t, group("a", 38)...)),
		"what is new is a message of its own")
	require.Equal(t, fill(store.Dropped, 3), OutcomesOf(b.MustAdmit(t, group("b", 3)...)))
	require.Equal(t, store.Ledger{Received: 78, Admitted: 2, Merged: 36, Duplicate: 37, Dropped: 3, Pending: 2}, b.MustReport(t).Ledger)
}

func fill(o store.Outcome, n int) []store.Outcome {
	all := make([]store.Outcome, n)
	for i := range all {
		all[i] = o
	}
	return all
}

func testMergeNeedsAMessageToCountOn(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "merge", Resolves: "post"}
	request := func(id, category string) store.Request { return narrow.AlertRequest(h, id, category, "", "") }
	require.Equal(t, []store.Outcome{
		store.Admitted, store.Admitted, store.Merged, store.Admitted, store.Admitted, store.Merged,
		store.Dropped,
	}, OutcomesOf(b.MustAdmit(t,
		request("1", "a"), request("2", "a"), request("3", "a"), request("4", "b"), request("5", "b"), request("6", "b"), request("7", "new"))),
		"the channel is full for what has no message")
}

func testInvalidPoliciesAreRejected(t *testing.T, start Start) {
	b := start(t)
	good := store.MessagePolicy{Overflow: "drop", Resolves: "post"}
	for fault, change := range map[string]func(r *store.Request){
		`overflow "burn" is unknown`:                    func(r *store.Request) { r.Policy.Overflow = "burn" },
		`resolves "shout" is unknown`:                   func(r *store.Request) { r.Policy.Resolves = "shout" },
		"overflow delay needs a number and a time":      func(r *store.Request) { r.Policy.Overflow = "delay" },
		"fingerprint has 65 bytes, want at most 64":     func(r *store.Request) { r.Event.Fingerprint = fmt.Sprintf("%065d", 0) },
		"a request that asks again for a delayed event": func(r *store.Request) { r.Policy, r.Delayed = nil, 1 },
	} {
		t.Run(fault, func(t *testing.T) {
			h := good
			r := narrow.AlertRequest(&h, "1", "c", "", "")
			change(&r)
			decide := b.Admit
			if r.Delayed > 0 {
				decide = b.Promote
			}
			_, err := decide(t.Context(), Scope, []store.Request{r})
			require.ErrorIs(t, err, ratelimit.ErrRequest)
			require.ErrorContains(t, err, fault)
		})
	}
	h, other := good, good
	_, err := b.Admit(t.Context(), Scope, []store.Request{
		narrow.AlertRequest(&h, "1", "c", "", ""), narrow.AlertRequest(&other, "2", "c", "", ""),
	})
	require.ErrorContains(t, err, "request 1: policy differs")
	require.Zero(t, b.MustReport(t).Ledger.Received)
}

// The record of drops is bounded in bytes: above that the oldest are removed, whatever their number.
func testDropLogIsBoundedInBytes(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 10_000}
	l := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	b.AdmitOne(t, l.AlertRequest(h, "admitted", "c", "", ""))
	for i := range 30 {
		b.AdmitOne(t, l.AlertRequest(h, fmt.Sprint("small", i), "c", "", ""))
	}
	for i := 0; i < 640; i += 32 {
		batch := make([]store.Request, 32)
		for n := range batch {
			batch[n] = l.Large(h, fmt.Sprint("large", i+n), "c")
		}
		b.MustAdmit(t, batch...)
	}
	b.AdmitOne(t, l.AlertRequest(h, "last", "c", "", ""))
	drops, err := b.Drops(t.Context(), Scope, "", 10_000)
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
}

// Posted messages are remembered up to a number of bytes: the resolve of the oldest finds no message any more.
func testPostedMessagesAreBoundedInBytes(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
	l := Limits{Channel: PerMinute(10_000), Category: PerMinute(10_000)}
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
		return b.AdmitOne(t, l.AlertRequest(h, fmt.Sprint("r", n), "c", store.Resolved, fmt.Sprint("f", n))).Outcome
	}
	require.Equal(t, store.Suppressed, resolve(0))
	require.Equal(t, store.Suppressed, resolve(31))
	require.Equal(t, store.Admitted, resolve(160), "it is remembered, and waits: its resolve takes its place")
	require.Equal(t, store.Admitted, resolve(1119))
}
