package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// The resolves of alerts that a message only counts are counted too, each once, until it reports that all are resolved.
func testGroupCountsTheResolvesOfAllItsAlerts(t *testing.T, start Start) {
	b := start(t)
	all := firings(0, 2_015)
	admit := func(status store.Status, events []event) {
		for part := range slices.Chunk(events, ratelimit.MaxBatch) {
			for i := range part {
				part[i].id, part[i].status = fmt.Sprint(status, part[i].fingerprint), status
			}
			b.MustAdmit(t, bundleOf(wide, editedRepeats, "#1", part...)...)
		}
	}
	admit(store.Firing, all)
	post := ClaimEntry(t, b.A)
	require.NoError(t, b.A.Ack(t.Context(), Scope, post, store.Receipt{Channel: "C1", TS: "1.000001"}))
	counted := func() (firing, resolved int64) {
		message := b.postedMessage(t, post.Number)
		return message.Untracked, message.UntrackedResolved
	}
	admit(store.Resolved, all[2_012:])
	firing, resolved := counted()
	require.Equal(t, []int64{2, 3}, []int64{firing, resolved})
	again := bundleOf(wide, editedRepeats, "#1", event{"again", "f2014", store.Resolved})
	require.Equal(t, fill(store.Suppressed, 1), OutcomesOf(b.MustAdmit(t, again...)), "it is resolved already")
	admit(store.Resolved, all[:2_010])
	late := bundleOf(wide, editedRepeats, "#1", event{"late", "late", store.Firing})
	require.Equal(t, fill(store.Merged, 1), OutcomesOf(b.MustAdmit(t, late...)), "two alerts fire")
	admit(store.Resolved, append(all[2_010:2_012:2_012], event{fingerprint: "late"}))
	firing, resolved = counted()
	require.Equal(t, []int64{0, 6}, []int64{firing, resolved})
	next := bundleOf(wide, editedRepeats, "#1", event{"next", "f1", store.Firing})
	require.Equal(t, fill(store.Admitted, 1), OutcomesOf(b.MustAdmit(t, next...)), "all alerts were resolved")
}

// What later calls add to a group joins its message as long as one of its alerts fires, even if the same call resolves that one
// first. After that, and where nobody knows where the message is, the group has another.
func testGroupJoinsItsMessageWhileItFires(t *testing.T, start Start) {
	b := start(t)
	admit := func(events ...event) []store.Outcome {
		return OutcomesOf(b.MustAdmit(t, bundleOf(wide, editedRepeats, "#1", events...)...))
	}
	post := func(receipt store.Receipt) {
		require.NoError(t, b.A.Ack(t.Context(), Scope, ClaimEntry(t, b.A), receipt))
	}
	require.Equal(t, fill(store.Admitted, 1), admit(event{"1", "a", store.Firing}))
	post(store.Receipt{Channel: "C1", TS: "1.000001"})
	require.Equal(t, fill(store.Merged, 2), admit(event{"2", "a", store.Resolved}, event{"3", "b", store.Firing}))
	require.Equal(t, fill(store.Merged, 1), admit(event{"4", "b", store.Resolved}))
	post(store.Receipt{})
	require.Equal(t, fillAfter(store.Admitted, store.Merged, 1), admit(event{"5", "a", store.Firing}, event{"6", "c", store.Firing}))
	post(store.Receipt{Channel: "C1"})
	require.Equal(t, fill(store.Admitted, 1), admit(event{"7", "d", store.Firing}), "the place of the message is unknown")
}

// A group whose first category is refused is posted with its other categories.
func testRefusedCategoryOfAGroupLeavesTheOthers(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(10), Category: PerMinute(1)}
	of := func(bundle string, categories ...string) []store.Outcome {
		var requests []store.Request
		for i, category := range categories {
			name := fmt.Sprint(bundle, i)
			r := l.AlertRequest(editedRepeats, name, category, store.Firing, name)
			r.Event.Bundle = bundle
			requests = append(requests, r)
		}
		return OutcomesOf(b.MustAdmit(t, requests...))
	}
	require.Equal(t, fillAfter(store.Admitted, store.Merged, 1), of("#1", "disk", "disk"))
	require.Equal(t, []store.Outcome{store.Dropped, store.Dropped, store.Admitted, store.Merged}, of("#2", "disk", "disk", "cpu", "disk"))
}

// A message that waits keeps the number of the events that it does not list, whatever of its group does not join it.
func testGroupThatWaitsKeepsItsCount(t *testing.T, start Start) {
	b := start(t)
	admit := func(events ...event) []store.Outcome {
		return OutcomesOf(b.MustAdmit(t, bundleOf(wide, editedRepeats, "#1", events...)...))
	}
	admit(firings(0, 20)...)
	require.Equal(t, fill(store.Suppressed, 1), admit(event{"unknown", "unknown", store.Resolved}))
	listed, unlisted := linesOf(ClaimEntry(t, b.A).Payload)
	require.Equal(t, 10, listed)
	require.Equal(t, "+10", unlisted)
}
