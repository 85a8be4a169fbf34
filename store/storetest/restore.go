package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var restoreBehaviours = []behaviour{
	{"RestoredMessageStaysUnknown", testRestoredMessageStaysUnknown},
	{"RestoredEndsAreFinal", testRestoredEndsAreFinal},
	{"RestoredFiringsAreFound", testRestoredFiringsAreFound},
	{"NothingIsMergedIntoAMessageOfUnknownPlace", testNothingIsMergedIntoAMessageOfUnknownPlace},
	{"RestoredRepeatsKeepTheEditableMessage", testRestoredRepeatsKeepTheEditableMessage},
	{"RestoredResolvesEndAnAlert", testRestoredResolvesEndAnAlert},
}

// outage is a store that takes in what was admitted while it was away.
type outage struct {
	Fixture

	merges int64 // of the replica that admitted it
}

func afterOutage(b Fixture) *outage { return &outage{Fixture: b} }

// restore takes in requests; of a past that is nil, nothing is known.
func (e *outage) restore(t tester, requests []store.Request, pasts ...*store.OutageResult) {
	e.merges++
	requests = slices.Clone(requests)
	for i, past := range pasts {
		if past != nil {
			requests[i].Result = &store.AgedResult{OutageResult: *past}
		}
	}
	require.NoError(t, e.C.Restore(t.Context(), Scope, requests, store.MergeID{Replica: "replica", Sequence: e.merges}))
}

// again repeats the last call of Restore, as a replica does that got no reply.
func (e *outage) again(t tester, requests []store.Request, pasts ...*store.OutageResult) {
	e.merges--
	e.restore(t, requests, pasts...)
}

func (e *outage) admit(t tester, requests ...store.Request) []store.Outcome {
	return e.decide(t, store.ModeAdmit, requests...)
}

func (e *outage) decide(t tester, mode store.Mode, requests ...store.Request) []store.Outcome {
	answer, err := e.method(mode)(t.Context(), Scope, requests)
	require.NoError(t, err)
	return OutcomesOf(answer.Decisions)
}

func (e *outage) ledger(t tester) store.Ledger {
	report, err := e.Report(t.Context(), Scope)
	require.NoError(t, err)
	require.Zero(t, report.Ledger.Imbalance())
	return report.Ledger
}

func (e *outage) claim(t tester, settle time.Duration) store.Claim {
	claim, err := e.C.Claim(t.Context(), Scope, store.Terms{Pace: store.Pace{Burst: 1}, LookupDelay: settle}, false)
	require.NoError(t, err)
	claim.Until = time.Time{}
	return claim
}

func (e *outage) posted(t tester, number int64) *store.PostedMessage {
	record, err := e.C.PostedMessage(t.Context(), Scope, number)
	require.NoError(t, err)
	return record
}

func (e *outage) dead(t tester) []store.DeadLetter {
	letters, err := e.C.DeadLetters(t.Context(), Scope, "", 10)
	require.NoError(t, err)
	for i := range letters {
		letters[i].ID, letters[i].At = "", time.Time{}
	}
	return append([]store.DeadLetter{}, letters...)
}

// A message that a replica tried to post during the outage stays unknown, with its attempts and the name that it was posted as.
func testRestoredMessageStaysUnknown(t *testing.T, start Start) {
	e := afterOutage(start(t))
	past := &store.OutageResult{
		Age: 40e6, Attempts: 2, Faults: 1, FirstAttempt: 30e6, LastAttempt: 20e6, Lookups: 1, Name: "7@1700000000000000",
	}
	e.restore(t, []store.Request{narrow.Request("1", "c"), narrow.Request("2", "c")}, past, nil)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Pending: 2}, e.ledger(t))
	claim := e.claim(t, 10*time.Second)
	require.Equal(t, store.AwaitingLookup, claim.State, "since the last attempt, three times as long")
	require.Equal(t, 10*time.Second, claim.Wait, "since the last attempt, three times as long")
	e.Advance(10 * time.Second)
	claim = e.claim(t, 10*time.Second)
	require.Equal(t, store.Claim{State: store.Claimed, More: true, Entry: store.Entry{
		Number: 1, Kind: "message", Payload: []byte(`{"id":"1"}`), Attempts: 2, Faults: 1, Age: 50 * time.Second,
		AdmittedAt: StartTime.Add(-40 * time.Second).UnixMicro(), Lookups: 1, Name: "7@1700000000000000", UnknownSince: claim.Entry.UnknownSince,
	}}, claim)
	require.Equal(t, StartTime.Add(-30*time.Second).UnixMicro(), claim.Entry.UnknownSince.UnixMicro())
	require.NoError(t, e.C.Ack(t.Context(), Scope, claim.Entry, store.Receipt{TS: "1.1"}))
	second := e.claim(t, 10*time.Second).Entry
	require.True(t, second.UnknownSince.IsZero())
	require.Equal(t, fmt.Sprintf("2@%d", second.AdmittedAt), second.PostedAs())
	require.NoError(t, e.C.Ack(t.Context(), Scope, second, store.Receipt{TS: "1.2"}))
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 2}, e.ledger(t))
}

// What ended during the outage has ended: dead letters are dead letters, and what expired has expired. What was certainly not
// posted gives its slot back.
func testRestoredEndsAreFinal(t *testing.T, start Start) {
	e := afterOutage(start(t))
	requests := []store.Request{
		narrow.Request("refused", "c"), narrow.Request("unknown", "c"), narrow.Request("old", "c"), narrow.Request("posted", "c"),
	}
	pasts := []*store.OutageResult{
		{Result: store.Failed, Reason: "is_archived", Answer: "no", Attempts: 1, KeepDeadLetters: 10},
		{Result: store.Failed, Reason: "unknown", Answer: "it may have been posted", Attempts: 2, KeepDeadLetters: 10, MaybePosted: true},
		{Result: store.Expired},
		{Result: store.Delivered, TS: "1.1", Channel: "C1"},
	}
	e.restore(t, requests, pasts...)
	e.again(t, requests, pasts...) // as if its reply was lost
	want := store.Ledger{Received: 4, Admitted: 4, Failed: 2, Expired: 1, Delivered: 1}
	require.Equal(t, want, e.ledger(t), "once")
	require.Equal(t, store.Empty, e.claim(t, 0).State, "nothing is posted again")
	require.Equal(t, []store.DeadLetter{
		{Number: 2, Kind: "message", Payload: []byte(`{"id":"unknown"}`), Reason: "unknown", Answer: "it may have been posted", Attempts: 2},
		{Number: 1, Kind: "message", Payload: []byte(`{"id":"refused"}`), Reason: "is_archived", Answer: "no", Attempts: 1},
	}, e.dead(t))
	usage, err := store.UsageOf(t.Context(), e.Limiter, Scope, requests[0].Levels[:1])
	require.NoError(t, err)
	require.EqualValues(t, 2, usage[0].Used, "the one in doubt and the one that was posted")
	require.Equal(t, fill(store.Duplicate, 4), e.admit(t, requests...))
}

// A firing that was posted during the outage is found by its repeats and its resolve.
func testRestoredFiringsAreFound(t *testing.T, start Start) {
	e := afterOutage(start(t))
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
	e.restore(t, []store.Request{narrow.AlertRequest(h, "1", "c", store.Firing, "f")},
		&store.OutageResult{Result: store.Delivered, TS: "1.1", Channel: "C1", Age: 5e6})
	require.Equal(t, &store.PostedMessage{
		Category: "c", At: StartTime.Add(-5 * time.Second).UnixMicro(), InSlack: true, TS: "1.1", Channel: "C1",
		Events: []store.PostedEvent{{Fingerprint: "f", Payload: `{"id":"1"}`}},
	}, e.posted(t, 1))
	require.Equal(t, []store.Outcome{store.Merged, store.Merged}, e.admit(t,
		narrow.AlertRequest(h, "2", "c", store.Firing, "f"), narrow.AlertRequest(h, "3", "c", store.Resolved, "f")))
	record := e.posted(t, 1)
	require.EqualValues(t, 1, record.Repeats)
	require.Positive(t, record.Events[0].Resolved)
}

// Nothing is merged into a message whose place in Slack is unknown: nobody would see it.
func testNothingIsMergedIntoAMessageOfUnknownPlace(t *testing.T, start Start) {
	e := afterOutage(start(t))
	h := &store.MessagePolicy{Overflow: "merge", Resolves: "edit", Repeats: true}
	alert := func(id string, status store.Status, fingerprint string) store.Request {
		return narrow.AlertRequest(h, id, "c", status, fingerprint)
	}
	posted := &store.OutageResult{Result: store.Delivered}
	e.restore(t, []store.Request{alert("1", store.Firing, "f"), alert("2", "", "u")}, posted, posted)
	require.Equal(t, []store.Outcome{store.Dropped}, e.admit(t, alert("3", store.Firing, "f")), "the levels decide, and are full")
	e.Advance(time.Minute)
	require.Equal(t, []store.Outcome{store.Admitted, store.Admitted}, e.admit(t, alert("4", store.Firing, "f"), alert("5", store.Update, "u")),
		"a message of its own")
	require.Equal(t, []store.Outcome{store.Merged, store.Merged}, e.admit(t, alert("6", store.Firing, "f"), alert("7", store.Update, "u")),
		"which the next ones are merged into")

	e.Advance(2 * time.Minute)
	require.NoError(t, e.C.Bury(t.Context(), Scope, e.claim(t, 0).Entry, store.DeadReason{Reason: "unknown", MaybePosted: true}))
	require.Equal(t, []store.Outcome{store.Admitted}, e.admit(t, alert("8", store.Firing, "f")), "nor into a dead letter")
}

// A message that can be edited is not replaced by one whose place in Slack is unknown.
func testRestoredRepeatsKeepTheEditableMessage(t *testing.T, start Start) {
	for name, c := range map[string]struct {
		past   store.OutageResult
		posted bool  // the durable one, before the outage
		number int64 // that the alert stands for afterwards
	}{
		"without its place":               {store.OutageResult{Result: store.Delivered}, true, 1},
		"with its place":                  {store.OutageResult{Result: store.Delivered, TS: "2.2", Channel: "C1", Age: 1e6}, true, 2},
		"the durable one waits":           {store.OutageResult{Result: store.Delivered}, false, 1},
		"a dead letter":                   {store.OutageResult{Result: store.Failed, KeepDeadLetters: 1}, true, 1},
		"a dead letter, perhaps in Slack": {store.OutageResult{Result: store.Failed, KeepDeadLetters: 1, MaybePosted: true}, true, 1},
		"older than the durable one":      {store.OutageResult{Result: store.Delivered, TS: "2.2", Age: 120e6}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := afterOutage(start(t))
			h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
			e.admit(t, narrow.AlertRequest(h, "1", "c", store.Firing, "f"))
			if c.posted {
				require.NoError(t, e.C.Ack(t.Context(), Scope, e.claim(t, 0).Entry, store.Receipt{TS: "1.1", Channel: "C1"}))
			}
			e.Advance(time.Minute)
			e.restore(t, []store.Request{narrow.AlertRequest(h, "2", "c", store.Firing, "f")}, &c.past)
			require.Equal(t, []store.Outcome{store.Merged}, e.admit(t, narrow.AlertRequest(h, "3", "c", store.Firing, "f")))
			require.EqualValues(t, 1, e.posted(t, c.number).Repeats)
		})
	}
}

// An alert that was resolved during the outage is a new one when it fires again.
func testRestoredResolvesEndAnAlert(t *testing.T, start Start) {
	e := afterOutage(start(t))
	wide := Limits{Channel: PerMinute(100), Category: PerMinute(100)}
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
	for i, past := range []*store.OutageResult{{Result: store.Delivered, TS: "2.2", Age: 1e6}, {Age: 1e6}} {
		id := func(name string) string { return fmt.Sprint(name, i) }
		require.Equal(t, []store.Outcome{store.Admitted}, e.admit(t, wide.AlertRequest(h, id("1"), "c", store.Firing, "f")))
		e.Advance(time.Minute)
		e.restore(t, []store.Request{wide.AlertRequest(h, id("2"), "c", store.Resolved, "f")}, past)
		require.Equal(t, []store.Outcome{store.Admitted}, e.admit(t, wide.AlertRequest(h, id("3"), "c", store.Firing, "f")), "no repeat")
		e.restore(t, []store.Request{wide.AlertRequest(h, id("4"), "c", store.Resolved, "f")},
			&store.OutageResult{Result: store.Delivered, Age: 30e6})
		require.Equal(t, []store.Outcome{store.Merged}, e.admit(t, wide.AlertRequest(h, id("5"), "c", store.Firing, "f")),
			"what was resolved before is another alert")
		e.Advance(time.Minute)
		e.restore(t, []store.Request{wide.AlertRequest(h, id("6"), "c", store.Resolved, "f")},
			&store.OutageResult{Result: store.Delivered, Age: 1e6})
	}
}
