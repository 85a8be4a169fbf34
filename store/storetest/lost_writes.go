package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var lostWritesBehaviours = []behaviour{
	{"ReusedNumberIsNotSettledByItsOldEntry", testReusedNumberIsNotSettledByItsOldEntry},
	{"ClaimThatAnotherFollowedSettlesOnlyAnAck", testClaimThatAnotherFollowedSettlesOnlyAnAck},
	{"ForgottenUnknownAttemptIsLookedUp", testForgottenUnknownAttemptIsLookedUp},
	{"ReusedDelayedNumberIsNotAskedFor", testReusedDelayedNumberIsNotAskedFor},
}

// reused returns an entry that the store forgot. Another one has its number now, which may have been posted and is in a
// backlog.
func (b Fixture) reused(t *testing.T, extra bool) (old store.Entry, where store.Channel) {
	t.Helper()
	level := store.LevelOf(ratelimit.LevelSpec{
		Name: "channel", Strategy: ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.Stream},
		Windows: []ratelimit.Window{{Limit: 3, Per: time.Second}},
	}, Scope, "")
	where = Scope
	terms := Lookable
	terms.Backlog = level.Key
	add := func(id string) store.Entry {
		if extra {
			require.NoError(t, b.B.Append(t.Context(), where, id, store.KindNotice, []byte(id)))
			return Claim(t, b.A, terms).Entry
		}
		_, err := b.Admit(t.Context(), Scope, []store.Request{{
			Request: ratelimit.Request{ID: id, Category: "c", Levels: []ratelimit.Level{level}},
			Policy:  &store.MessagePolicy{Overflow: "merge", Resolves: "edit"},
			Event:   store.Event{Status: store.Firing, Fingerprint: "f", Severity: "error", Title: id},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(id)},
		}})
		require.NoError(t, err)
		return Claim(t, b.A, terms).Entry
	}
	require.NoError(t, b.A.Ack(t.Context(), where, add("before"), store.Receipt{}))
	restore := b.Save(t)
	b.Advance(time.Second)
	old = add("old")
	restore()
	b.Advance(time.Second)
	fresh := add("new")
	require.Equal(t, old.Number, fresh.Number)
	require.Equal(t, "old", string(old.Payload))
	require.Equal(t, "new", string(fresh.Payload))
	require.NotEqual(t, old.AdmittedAt, fresh.AdmittedAt)
	require.NoError(t, b.A.Retry(t.Context(), where, fresh, store.RetryPlan{State: store.MaybePosted}))
	return old, where
}

// reportsOn are all reports that a sender can make on an entry, by name.
func reportsOn(t *testing.T, where store.Channel) map[string]func(o store.Queue, entry store.Entry) error {
	t.Helper()
	fallback := store.Channel{Group: "alerts", Name: "alerts~fallback"}
	retry := func(p store.RetryPlan) func(o store.Queue, entry store.Entry) error {
		return func(o store.Queue, entry store.Entry) error { return o.Retry(t.Context(), where, entry, p) }
	}
	return map[string]func(o store.Queue, entry store.Entry) error{
		"ack": func(o store.Queue, entry store.Entry) error {
			return o.Ack(t.Context(), where, entry, store.Receipt{Channel: "C1", TS: "1.000001"})
		},
		"bury": func(o store.Queue, entry store.Entry) error {
			return o.Bury(t.Context(), where, entry, store.DeadReason{Reason: "is_archived", Answer: "no", CopyTo: &fallback})
		},
		"expire": func(o store.Queue, entry store.Entry) error {
			return o.Expire(t.Context(), where, entry, map[string]int64{"x:c:error": 1, "t:old": 1})
		},
		"drop":              func(o store.Queue, entry store.Entry) error { return o.Discard(t.Context(), where, entry) },
		"retry, not posted": retry(store.RetryPlan{Wait: time.Hour, Reason: "rate_limited", Fault: true}),
		"retry, looked up":  retry(store.RetryPlan{State: store.NotFound, Waits: store.EntryWaits}),
		"retry, once more":  retry(store.RetryPlan{State: store.SendAgain, Waits: store.EditsWait, Wait: time.Hour}),
		"retry, unknown":    retry(store.RetryPlan{State: store.MaybePosted, Waits: store.EntryWaits, Wait: time.Hour}),
	}
}

// A store that was restored from an older snapshot gives a number again. Settling the old entry does not touch the new one.
func testReusedNumberIsNotSettledByItsOldEntry(t *testing.T, start Start) {
	for kind, extra := range map[string]bool{"message": false, "extra": true} {
		for how := range reportsOn(t, Scope) {
			t.Run(how+" of a "+kind, func(t *testing.T) {
				t.Parallel()
				b := start(t)
				old, where := b.reused(t, extra)
				before := b.Snapshot(t)
				require.NoError(t, reportsOn(t, where)[how](b.A, old), "it is gone")
				require.Equal(t, before, b.Snapshot(t), "and nothing was changed")
				require.Equal(t, store.AwaitingLookup, Claim(t, b.B, Lookable).State)
				b.Advance(Lookable.LookupDelay)
				fresh := Claim(t, b.B, Lookable).Entry
				require.Equal(t, "new", string(fresh.Payload))
				require.Equal(t, int64(1), fresh.Attempts)
				require.Equal(t, int64(0), fresh.Faults)
				require.NoError(t, b.B.Ack(t.Context(), where, fresh, store.Receipt{}))
			})
		}
	}
}

// Another sender claimed the entry since, and its lease has ended: its attempt may have been posted, so that only an Ack, which
// is certain, settles the entry.
func testClaimThatAnotherFollowedSettlesOnlyAnAck(t *testing.T, start Start) {
	for how := range reportsOn(t, Scope) {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			require.NoError(t, b.A.Append(t.Context(), Scope, "1", store.KindNotice, []byte("1")))
			late := Claim(t, b.A, Lookable).Entry
			b.Advance(10 * time.Second)
			followed := Claim(t, b.B, Lookable).Entry
			require.NoError(t, b.B.Retry(t.Context(), Scope, followed, store.RetryPlan{State: store.MaybePosted}))
			before := b.Snapshot(t)
			err := reportsOn(t, Scope)[how](b.A, late)
			if how == "ack" {
				require.NoError(t, err)
				require.Equal(t, store.Empty, Claim(t, b.B, Lookable).State)
				return
			}
			require.ErrorIs(t, err, store.ErrLeaseLost)
			require.Equal(t, before, b.Snapshot(t))
		})
	}
}

// A sender reports that its attempt may have been posted to a store that forgot the claim: the message is looked up, from its
// admission on.
func testForgottenUnknownAttemptIsLookedUp(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	restore := b.Save(t)
	b.Advance(time.Second)
	tried := Claim(t, b.A, Lookable).Entry
	restore()
	require.NoError(t, b.A.Retry(t.Context(), Scope, tried, store.RetryPlan{State: store.MaybePosted}))
	require.Equal(t, store.AwaitingLookup, Claim(t, b.B, Lookable).State)
	b.Advance(Lookable.LookupDelay)
	require.Equal(t, time.UnixMicro(tried.AdmittedAt), Claim(t, b.B, Lookable).Entry.UnknownSince)
}

// A delayed message whose number was given to another one since is not promoted in its place.
func testReusedDelayedNumberIsNotAskedFor(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", Resolves: "post", MaxDelayed: 3, MaxDelay: time.Hour}
	request := func(id string) store.Request {
		return store.Request{
			Request: ratelimit.Request{
				ID:       id,
				Category: "c",
				Levels:   []ratelimit.Level{ChannelLevel("alerts", ratelimit.Window{Limit: 1, Per: time.Minute})},
			},
			Policy:  h,
			Event:   store.Event{Severity: "error", Title: id},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(id)},
		}
	}
	listed := func() store.DelayedMessage {
		all, err := b.A.Delayed(t.Context(), Scope)
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0]
	}
	require.Equal(t, store.Admitted, b.AdmitOne(t, request("first")).Outcome)
	restore := b.Save(t)
	require.Equal(t, store.Delayed, b.AdmitOne(t, request("old")).Outcome)
	old := listed()
	restore()
	require.Equal(t, store.Delayed, b.AdmitOne(t, request("new")).Outcome)
	fresh := listed()
	require.Equal(t, old.Number, fresh.Number)
	b.Advance(2 * time.Minute)
	require.Equal(t, store.Duplicate, b.PromoteOne(t, request("old"), old.Number).Outcome, "it is not delayed any more")
	require.Equal(t, fresh, listed())
	require.Equal(t, store.Admitted, b.PromoteOne(t, request("new"), fresh.Number).Outcome)
}
