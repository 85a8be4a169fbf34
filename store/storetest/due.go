package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var dueBehaviours = []behaviour{
	{"EveryCallThatAddsWorkMakesItsChannelDue", testEveryCallThatAddsWorkMakesItsChannelDue},
	{"CallsThatAddNoWorkMakeNoChannelDue", testCallsThatAddNoWorkMakeNoChannelDue},
	{"ClaimNotesWhenItsStateEnds", testClaimNotesWhenItsStateEnds},
	{"ChannelOfADeadSenderIsDueWhenItsLeaseEnds", testChannelOfADeadSenderIsDueWhenItsLeaseEnds},
	{"DigestIsDueAtItsTimes", testDigestIsDueAtItsTimes},
	{"DelayedMessageIsDueWhenItMayFit", testDelayedMessageIsDueWhenItMayFit},
	{"DelayedMessageIsAskedAgainInTime", testDelayedMessageIsAskedAgainInTime},
	{"DelayedMessagesAreDueWhenUnitsAreGivenBack", testDelayedMessagesAreDueWhenUnitsAreGivenBack},
	{"DueListsTheChannelsThatTheCallerNames", testDueListsTheChannelsThatTheCallerNames},
}

// due returns the work of [Scope] that is due now.
func (b Fixture) due(t tester) (kinds []store.WorkKind) {
	work, err := b.A.Due(t.Context(), []store.Channel{Scope}, true)
	require.NoError(t, err)
	for _, w := range work {
		require.Equal(t, Scope, w.Channel)
		kinds = append(kinds, w.Kind)
	}
	return kinds
}

// dueAt is when to look at a work of [Scope] next; 0 = never.
func (b Fixture) dueAt(tb testing.TB, kind store.WorkKind) int64 {
	tb.Helper()
	return b.DueIndex(tb)[Scope.Keys().Work(string(kind))]
}

// requireDueIn requires that a work of [Scope] is due after a time, to the microsecond; -1 = it never is.
func (b Fixture) requireDueIn(t *testing.T, kind store.WorkKind, after time.Duration) {
	t.Helper()
	at := b.dueAt(t, kind)
	if after < 0 {
		require.Zero(t, at)
		return
	}
	require.Equal(t, after, time.UnixMicro(at).Sub(b.Now()))
}

// sendNow is what is due of a channel with messages or extras.
var sendNow = []store.WorkKind{store.WorkSend}

// A sender that dies leaves its channel to others when its lease ends, and not before.
func testChannelOfADeadSenderIsDueWhenItsLeaseEnds(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 3)
	ClaimEntry(t, b.A)
	b.Advance(4 * time.Second)
	b.AdmitOne(t, Small.Request("more", "a"))
	require.Equal(t, store.Leased, Claim(t, b.B, Unpaced).State, "what was admitted meanwhile is its sender's")
	require.Empty(t, b.due(t))
	b.Advance(6 * time.Second)
	require.Equal(t, sendNow, b.due(t))
	require.Equal(t, "1 of 3", string(ClaimEntry(t, b.B).Payload))
}

func testDigestIsDueAtItsTimes(t *testing.T, start Start) {
	b := start(t)
	terms := store.Terms{Pace: store.Pace{Burst: 1}, Digest: store.DigestTerms{
		Interval: 10 * time.Minute, EditEvery: 30 * time.Second, Minimum: 2,
	}}
	look := func(state store.ClaimState, next time.Duration) {
		t.Helper()
		require.Equal(t, state, Claim(t, b.A, terms).State)
		b.requireDueIn(t, store.WorkSend, next)
	}
	b.DropForDigest(t, "disk", 1)
	b.Advance(time.Second)
	look(store.Empty, 10*time.Second) // more may be dropped by then
	b.DropForDigest(t, "cpu", 1)
	look(store.Empty, 9*time.Second)
	b.Advance(9 * time.Second)
	look(store.DigestDue, time.Second)
	require.NoError(t, b.A.Digest(t.Context(), Scope, terms.Digest))
	require.Equal(t, sendNow, b.due(t))
	entry := Claim(t, b.A, terms).Entry
	require.Equal(t, store.KindDigest, entry.Kind)
	require.NoError(t, b.A.Ack(t.Context(), Scope, entry, store.Receipt{}))
	look(store.Empty, 10*time.Minute) // it is closed then
	b.Advance(10 * time.Second)
	b.DropForDigest(t, "late", 1)
	require.Equal(t, sendNow, b.due(t))
	look(store.Empty, 20*time.Second)
}

func testDelayedMessageIsDueWhenItMayFit(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 5, MaxDelay: time.Minute, Resolves: "post"}
	one := Limits{Channel: ratelimit.Window{Limit: 1, Per: 8 * time.Second}, Category: PerMinute(100)}
	request := func(id string) store.Request { return one.AlertRequest(h, id, "c", "", "") }
	b.MustAdmit(t, request("1"), request("2"), request("3"))
	require.ElementsMatch(t, []store.WorkKind{store.WorkSend, store.WorkPromote}, b.due(t))
	require.Equal(t, store.Delayed, b.PromoteOne(t, request("2"), 2).Outcome)
	b.requireDueIn(t, store.WorkPromote, 8*time.Second)
	b.Advance(8 * time.Second)
	require.Equal(t, store.Admitted, b.PromoteOne(t, request("2"), 2).Outcome)
	b.requireDueIn(t, store.WorkPromote, 100*time.Millisecond)
	b.Advance(8 * time.Second)
	require.Equal(t, store.Admitted, b.PromoteOne(t, request("3"), 3).Outcome)
	b.requireDueIn(t, store.WorkPromote, -1)
}

// Limits may be raised, and units refunded: what would wait for longer is asked again in time. It is also asked when it has
// waited for too long.
func testDelayedMessageIsAskedAgainInTime(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 5, MaxDelay: 13 * time.Second, Resolves: "post"}
	request := func(id string) store.Request { return narrow.AlertRequest(h, id, "c", "", "") }
	b.MustAdmit(t, request("1"), request("2"), request("3"))
	require.Equal(t, store.Delayed, b.PromoteOne(t, request("3"), 3).Outcome)
	b.requireDueIn(t, store.WorkPromote, 10*time.Second)
	b.Advance(10 * time.Second)
	require.Equal(t, store.Delayed, b.PromoteOne(t, request("3"), 3).Outcome)
	b.requireDueIn(t, store.WorkPromote, 3*time.Second+time.Microsecond)
	b.Advance(3*time.Second + time.Microsecond)
	require.Equal(t, store.Full, b.PromoteOne(t, request("3"), 3).Outcome)
	require.Zero(t, b.dueAt(t, store.WorkPromote))
}

// They may fit now. A channel without delayed messages is not due.
func testDelayedMessagesAreDueWhenUnitsAreGivenBack(t *testing.T, start Start) {
	h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 5, MaxDelay: time.Minute, Resolves: "post"}
	request := func(id string) store.Request { return narrow.AlertRequest(h, id, "c", "", "") }
	for name, giveBack := range map[string]func(b Fixture, id string) error{
		"reset":  func(b Fixture, _ string) error { return b.Reset(t.Context(), Scope, request("").Levels...) },
		"refund": func(b Fixture, id string) error { return b.Refund(t.Context(), Scope, request(id)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.MustAdmit(t, request("1"), request("2"), request("3"))
			require.Equal(t, store.Delayed, b.PromoteOne(t, request("3"), 3).Outcome)
			b.requireDueIn(t, store.WorkPromote, 10*time.Second)
			require.NoError(t, giveBack(b, "1"))
			b.requireDueIn(t, store.WorkPromote, 0)
			require.Equal(t, store.Admitted, b.PromoteOne(t, request("3"), 3).Outcome)
			require.NoError(t, giveBack(b, "2"))
			require.Zero(t, b.dueAt(t, store.WorkPromote))
		})
	}
}

// The index may contain work of channels that a caller does not have: it does not hide that of others.
func testDueListsTheChannelsThatTheCallerNames(t *testing.T, start Start) {
	b := start(t)
	channel := func(group, name string) store.Channel { return store.Channel{Group: group, Name: name} }
	add := func(where store.Channel) {
		require.NoError(t, b.A.Append(t.Context(), where, "1", store.KindNotice, []byte("{}")))
	}
	for i := range store.MaxDue + 10 {
		add(channel("others", fmt.Sprint(i)))
	}
	b.Advance(time.Second)
	odd := channel("a {b}: 50 %\xff", "c:d e")
	own := channel("", "own")
	add(odd)
	b.Advance(time.Second)
	add(own)
	work, err := b.A.Due(t.Context(), []store.Channel{own, channel("none", "here"), odd}, false)
	require.NoError(t, err)
	require.Equal(t, []store.Work{{Kind: store.WorkSend, Channel: odd}, {Kind: store.WorkSend, Channel: own}}, work, "earliest first")

	work, err = b.A.Due(t.Context(), nil, true)
	require.NoError(t, err)
	require.Empty(t, work)
	var all []store.Channel
	for i := range store.MaxDue + 10 {
		all = append(all, channel("others", fmt.Sprint(i)))
	}
	work, err = b.A.Due(t.Context(), all, true)
	require.NoError(t, err)
	require.Len(t, work, store.MaxDue)
}
