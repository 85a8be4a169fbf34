package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var bundleListsBehaviours = []behaviour{
	{"MessageOfABundleListsTenEvents", testMessageOfABundleListsTenEvents},
	{"BundleGoesOnInLaterCalls", testBundleGoesOnInLaterCalls},
	{"BundleThatWasPostedIsEdited", testBundleThatWasPostedIsEdited},
	{"BundleThatWaitedIsFoundAfterItsPromotion", testBundleThatWaitedIsFoundAfterItsPromotion},
	{"BundleFollowsABoundedNumberOfAlerts", testBundleFollowsABoundedNumberOfAlerts},
	{"GroupCountsTheResolvesOfAllItsAlerts", testGroupCountsTheResolvesOfAllItsAlerts},
	{"GroupJoinsItsMessageWhileItFires", testGroupJoinsItsMessageWhileItFires},
	{"RefusedCategoryOfAGroupLeavesTheOthers", testRefusedCategoryOfAGroupLeavesTheOthers},
	{"GroupThatWaitsKeepsItsCount", testGroupThatWaitsKeepsItsCount},
}

var wide = Limits{Channel: PerMinute(100_000), Category: PerMinute(100_000)}

// event is one of a bundle.
type event struct {
	id, fingerprint string
	status          store.Status
}

func firings(from, n int) []event {
	all := make([]event, n)
	for i := range all {
		all[i] = event{fmt.Sprint("e", from+i), fmt.Sprint("f", from+i), store.Firing}
	}
	return all
}

func bundleOf(l Limits, h *store.MessagePolicy, name string, events ...event) []store.Request {
	requests := make([]store.Request, len(events))
	for i, e := range events {
		requests[i] = l.AlertRequest(h, e.id, "c", e.status, e.fingerprint)
		requests[i].Event.Bundle = name
	}
	return requests
}

// linesOf are the lines of a payload: one for each listed event, then the numbers of those that are not.
func linesOf(payload []byte) (listed int, unlisted string) {
	lines := strings.Split(string(payload), "\n")
	if last := lines[len(lines)-1]; strings.HasPrefix(last, "+") {
		return len(lines) - 1, last
	}
	return len(lines), ""
}

var editedResolves = &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}

// Beyond ten events, the entry counts the others, and those of them that are over.
func testMessageOfABundleListsTenEvents(t *testing.T, start Start) {
	over := event{"r", "", store.Resolved}
	plain := event{"p", "", ""}
	for name, row := range map[string]struct {
		events   []event
		listed   int
		unlisted string
		members  int
		resolved int64
		plain    int64
	}{
		"two":                    {firings(0, 2), 2, "", 0, 0, 0},
		"ten":                    {firings(0, 10), 10, "", 0, 0, 0},
		"eleven":                 {firings(0, 11), 10, "+1", 1, 0, 0},
		"a resolve in the list":  {append(firings(0, 8), over), 9, "", 0, 0, 0},
		"a resolve beyond it":    {append(firings(0, 10), over), 10, "+1 1", 0, 1, 0},
		"events without a name":  {append(firings(0, 10), plain, event{"q", "", ""}), 10, "+2", 0, 0, 2},
		"some of each":           {append(firings(0, 12), over, event{"s", "", store.Resolved}, plain), 10, "+5 2", 2, 2, 1},
		"the same alert again":   {append(firings(0, 10), event{"again", "f3", store.Firing}), 10, "", 0, 0, 0},
		"a member's alert again": {append(firings(0, 11), event{"again", "f10", store.Firing}), 10, "+1", 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.MustAdmit(t, bundleOf(wide, editedResolves, "@1", row.events...)...)
			e := ClaimEntry(t, b.A)
			listed, unlisted := linesOf(e.Payload)
			require.Equal(t, row.listed, listed)
			require.Equal(t, row.unlisted, unlisted)
			message := b.postedMessage(t, e.Number)
			require.Len(t, message.Events, row.listed)
			require.Len(t, message.Members, row.members)
			require.Equal(t, row.resolved, message.UntrackedResolved)
			require.Equal(t, row.plain, message.Untracked)
		})
	}
}

func (b Fixture) postedMessage(t *testing.T, number int64) *store.PostedMessage {
	t.Helper()
	message, err := b.A.PostedMessage(t.Context(), Scope, number)
	require.NoError(t, err)
	require.NotNil(t, message)
	return message
}

// The events of later calls join the message while it waits, and replace the number of those that it does not list.
func testBundleGoesOnInLaterCalls(t *testing.T, start Start) {
	b := start(t)
	over := []event{{"r1", "", store.Resolved}, {"r2", "", store.Resolved}}
	require.Equal(t, fillAfter(store.Admitted, store.Merged, 11), OutcomesOf(b.MustAdmit(t,
		bundleOf(wide, editedResolves, "@1", append(firings(0, 11), over[0])...)...)))
	require.Equal(t, fill(store.Merged, 3), OutcomesOf(b.MustAdmit(t,
		bundleOf(wide, editedResolves, "@1", append(firings(20, 2), over[1])...)...)))
	e := ClaimEntry(t, b.A)
	listed, unlisted := linesOf(e.Payload)
	require.Equal(t, 10, listed)
	require.Equal(t, "+5 2", unlisted)
	require.Len(t, b.postedMessage(t, e.Number).Members, 3)
	require.Equal(t, store.Ledger{Received: 15, Admitted: 1, Merged: 14, Pending: 1}, b.MustReport(t).Ledger)
}

func fillAfter(first, rest store.Outcome, n int) []store.Outcome {
	return append([]store.Outcome{first}, fill(rest, n)...)
}

// What joins a message that was posted is an edit, and one edit is enough for all that joins before it is sent.
func testBundleThatWasPostedIsEdited(t *testing.T, start Start) {
	b := start(t)
	b.MustAdmit(t, bundleOf(wide, editedResolves, "@1", firings(0, 2)...)...)
	post := ClaimEntry(t, b.A)
	require.NoError(t, b.A.Ack(t.Context(), Scope, post, store.Receipt{Channel: "C1", TS: "1.000001"}))
	require.Equal(t, fill(store.Merged, 2), OutcomesOf(b.MustAdmit(t, bundleOf(wide, editedResolves, "@1", firings(2, 2)...)...)))
	edit := ClaimEntry(t, b.A)
	require.Equal(t, store.KindEdit, edit.Kind)
	require.Equal(t, fmt.Sprint(post.Number), string(edit.Payload))
	require.Len(t, b.postedMessage(t, post.Number).Events, 4)
	require.NoError(t, b.A.Ack(t.Context(), Scope, edit, store.Receipt{}))
	require.Equal(t, store.Empty, Claim(t, b.A, Unpaced).State)

	resolve := wide.AlertRequest(editedResolves, "over", "c", store.Resolved, "f3")
	require.Equal(t, store.Merged, b.AdmitOne(t, resolve).Outcome, "an alert that joined is found")
	message := b.postedMessage(t, post.Number)
	require.NotZero(t, message.Events[3].Resolved)
	require.Zero(t, message.Events[2].Resolved)
}

// A bundle that waits for a slot takes in more events, and after its promotion its alerts are found.
func testBundleThatWaitedIsFoundAfterItsPromotion(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", Resolves: "edit", MaxDelayed: 5, MaxDelay: 10 * 60e9}
	l := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	b.AdmitOne(t, l.AlertRequest(h, "first", "c", "", ""))
	require.Equal(t, fillAfter(store.Delayed, store.Merged, 10), OutcomesOf(b.MustAdmit(t, bundleOf(l, h, "@1", firings(0, 11)...)...)))
	require.Equal(t, fill(store.Merged, 1), OutcomesOf(b.MustAdmit(t, bundleOf(l, h, "@1", firings(11, 1)...)...)))
	waiting, err := b.A.Delayed(t.Context(), Scope)
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	listed, unlisted := linesOf(waiting[0].Payload)
	require.Equal(t, 10, listed)
	require.Equal(t, "+2", unlisted)
	require.NoError(t, b.A.Ack(t.Context(), Scope, ClaimEntry(t, b.A), store.Receipt{}))

	b.Advance(60e9)
	again := l.AlertRequest(h, "e0", "c", store.Firing, "")
	again.Enqueue.Payload = waiting[0].Payload
	require.Equal(t, store.Admitted, b.PromoteOne(t, again, waiting[0].Number).Outcome)
	post := ClaimEntry(t, b.A)
	require.NoError(t, b.A.Ack(t.Context(), Scope, post, store.Receipt{Channel: "C1", TS: "1.000001"}))
	before := b.postedMessage(t, post.Number)
	for _, name := range []string{"f0", "f11"} {
		require.Equal(t, store.Merged, b.AdmitOne(t, l.AlertRequest(h, "over "+name, "c", store.Resolved, name)).Outcome, name)
	}
	message := b.postedMessage(t, post.Number)
	require.NotZero(t, message.Events[0].Resolved)
	require.NotZero(t, message.Members["f11"])
	require.Zero(t, message.Members["f10"])
	require.Zero(t, before.Members["f11"], "what was read stays")
	require.Equal(t, fill(store.Merged, 1), OutcomesOf(b.MustAdmit(t, bundleOf(l, h, "@1", firings(12, 1)...)...)), "it goes on")
}

// A message follows 2,000 alerts beyond those that it lists, and counts the others.
func testBundleFollowsABoundedNumberOfAlerts(t *testing.T, start Start) {
	b := start(t)
	all := firings(0, 2_012)
	for from := 0; from < len(all); from += ratelimit.MaxBatch {
		b.MustAdmit(t, bundleOf(wide, editedResolves, "@1", all[from:min(len(all), from+ratelimit.MaxBatch)]...)...)
	}
	e := ClaimEntry(t, b.A)
	_, unlisted := linesOf(e.Payload)
	require.Equal(t, "+2002", unlisted)
	message := b.postedMessage(t, e.Number)
	require.Len(t, message.Members, 2_000)
	require.Equal(t, int64(2), message.Untracked)
}
