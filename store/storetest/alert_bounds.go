package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var alertBoundsBehaviours = []behaviour{
	{"AlertThatFiresAgainIsARepeatWhileAnotherFires", testAlertThatFiresAgainIsARepeatWhileAnotherFires},
	{"RepeatIsCountedAfterItWaitedForASlot", testRepeatIsCountedAfterItWaitedForASlot},
	{"BundleThatWaitedIsNoRepeat", testBundleThatWaitedIsNoRepeat},
	{"ResolveEndsAnAlertInItsLast32Messages", testResolveEndsAnAlertInItsLast32Messages},
	{"ResolveTakesThePlaceOfItsFiringInABundle", testResolveTakesThePlaceOfItsFiringInABundle},
	{"EntryInFlightKeepsItsCountOfEvents", testEntryInFlightKeepsItsCountOfEvents},
	{"DelayedEventsAreBoundedToTheByte", testDelayedEventsAreBoundedToTheByte},
	{"RestoredMessageReplacesOneOfTheSameInstant", testRestoredMessageReplacesOneOfTheSameInstant},
}

var editedRepeats = &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}

// An alert that was over and fires again belongs to its message while another alert in it fires, listed or not. An event
// that is no alert does not count.
func testAlertThatFiresAgainIsARepeatWhileAnotherFires(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		alerts int
		again  string
	}{"listed": {3, "f1"}, "beyond the list": {13, "f11"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			plain := event{"plain", "", ""}
			b.MustAdmit(t, bundleOf(wide, editedRepeats, "webhook", append([]event{plain}, firings(0, row.alerts)...)...)...)
			n := 0
			of := func(status store.Status, fingerprint string) store.Outcome {
				n++
				return b.AdmitOne(t, wide.AlertRequest(editedRepeats, fmt.Sprint("n", n), "c", status, fingerprint)).Outcome
			}
			for i := range row.alerts - 1 {
				require.Equal(t, store.Merged, of(store.Resolved, fmt.Sprint("f", i)))
			}
			require.Equal(t, store.Merged, of(store.Firing, row.again), "the last alert still fires")
			require.Equal(t, store.Merged, of(store.Resolved, row.again))
			require.Equal(t, store.Merged, of(store.Resolved, fmt.Sprint("f", row.alerts-1)))
			require.Equal(t, store.Admitted, of(store.Firing, row.again), "nothing fires: it is a new alert")
		})
	}
}

func testRepeatIsCountedAfterItWaitedForASlot(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", Resolves: "edit", Repeats: true, MaxDelayed: 5, MaxDelay: time.Hour}
	l := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	of := func(id string) store.Request { return l.AlertRequest(h, id, "c", store.Firing, "f") }
	b.AdmitOne(t, l.AlertRequest(h, "first", "c", "", ""))
	require.Equal(t, fill(store.Delayed, 2), OutcomesOf(b.MustAdmit(t, of("2"), of("3"))))
	b.Advance(time.Minute)
	require.Equal(t, store.Admitted, b.PromoteOne(t, of("2"), 2).Outcome)
	require.Equal(t, store.Merged, b.PromoteOne(t, of("3"), 3).Outcome, "of the one before")
}

// A bundle that waited is posted, also where one of its alerts was posted meanwhile: its other events would be lost.
func testBundleThatWaitedIsNoRepeat(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "delay", Resolves: "edit", Repeats: true, MaxDelayed: 5, MaxDelay: time.Hour}
	l := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	b.AdmitOne(t, l.AlertRequest(h, "first", "c", "", ""))
	require.Equal(t, fillAfter(store.Delayed, store.Merged, 1), OutcomesOf(b.MustAdmit(t, bundleOf(l, h, "webhook", firings(0, 2)...)...)))
	other := l.AlertRequest(h, "other", "d", store.Firing, "f0")
	require.Equal(t, store.Delayed, b.AdmitOne(t, other).Outcome)
	waiting, err := b.A.Delayed(t.Context(), Scope)
	require.NoError(t, err)
	b.Advance(time.Minute)
	require.Equal(t, store.Admitted, b.PromoteOne(t, other, waiting[1].Number).Outcome)
	b.Advance(time.Minute)
	bundle := l.AlertRequest(h, "e0", "c", store.Firing, "f0")
	bundle.Enqueue.Payload = waiting[0].Payload
	require.Equal(t, store.Admitted, b.PromoteOne(t, bundle, waiting[0].Number).Outcome)
}

// Each message of an alert names the one before. A resolve follows them, and ends the alert in the newest 32.
func testResolveEndsAnAlertInItsLast32Messages(t *testing.T, start Start) {
	b := start(t)
	of := func(id string, status store.Status) store.Request {
		return wide.AlertRequest(editedResolves, id, "c", status, "f")
	}
	for i := range 34 {
		b.AdmitOne(t, of(fmt.Sprint(i), store.Firing))
		require.NoError(t, b.A.Ack(t.Context(), Scope, ClaimEntry(t, b.A), store.Receipt{Channel: "C1", TS: fmt.Sprint(i)}))
	}
	require.Equal(t, store.Merged, b.AdmitOne(t, of("over", store.Resolved)).Outcome)
	for number, isOver := range map[int64]bool{34: true, 3: true, 2: false} {
		require.Equal(t, isOver, b.postedMessage(t, number).Events[0].Resolved > 0, number)
	}
}

// A resolve in the same bundle takes the place of its firing. What joins the bundle after it is listed beside the resolve.
func testResolveTakesThePlaceOfItsFiringInABundle(t *testing.T, start Start) {
	b := start(t)
	all := append(firings(0, 1), event{"over", "f0", store.Resolved}, event{"plain", "", ""})
	got := b.MustAdmit(t, bundleOf(wide, editedResolves, "webhook", append(all, firings(1, 2)...)...)...)
	require.Equal(t, []store.Outcome{store.Admitted, store.Admitted, store.Merged, store.Merged, store.Merged}, OutcomesOf(got))
	e := ClaimEntry(t, b.A)
	require.Equal(t, []string{`{"id":"over"}`, `{"id":"plain"}`, `{"id":"e1"}`, `{"id":"e2"}`}, strings.Split(string(e.Payload), "\n"))
	var fingerprints []string
	for _, listed := range b.postedMessage(t, e.Number).Events {
		fingerprints = append(fingerprints, listed.Fingerprint)
	}
	require.Equal(t, []string{"", "", "f1", "f2"}, fingerprints)
}

// What joins a message that is being sent is an edit: another attempt sends what the first one did.
func testEntryInFlightKeepsItsCountOfEvents(t *testing.T, start Start) {
	b := start(t)
	b.MustAdmit(t, bundleOf(wide, editedResolves, "@1", firings(0, 12)...)...)
	sent := ClaimEntry(t, b.A)
	b.MustAdmit(t, bundleOf(wide, editedResolves, "@1", firings(12, 1)...)...)
	require.NoError(t, b.A.Retry(t.Context(), Scope, sent, store.RetryPlan{State: store.SendAgain}))
	again := ClaimEntry(t, b.A)
	require.Equal(t, sent.Number, again.Number)
	require.Equal(t, string(sent.Payload), string(again.Payload))
}

// Delayed events take 8 MiB at most, with 25 bytes beside each payload: the first that finds as much is dropped.
func testDelayedEventsAreBoundedToTheByte(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		missing int
		want    store.Outcome
	}{"full": {0, store.Full}, "room for a byte": {1, store.Delayed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			h := &store.MessagePolicy{Overflow: "delay", Resolves: "post", MaxDelayed: 1000, MaxDelay: time.Hour}
			closed := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
			of := func(id string, bytes int) store.Request {
				r := closed.AlertRequest(h, id, "c", "", "")
				r.Enqueue.Payload = make([]byte, bytes)
				return r
			}
			b.AdmitOne(t, of("first", 1))
			const each = LargeEvent - 25
			for i := range 8<<20/LargeEvent - 1 {
				require.Equal(t, store.Delayed, b.AdmitOne(t, of(fmt.Sprint(i), each)).Outcome)
			}
			require.Equal(t, []store.Outcome{store.Delayed, row.want}, OutcomesOf(b.MustAdmit(t, of("last", each-row.missing), of("more", 1))))
		})
	}
}

// A message that was posted during an outage stands for its alert, unless another one is newer.
func testRestoredMessageReplacesOneOfTheSameInstant(t *testing.T, start Start) {
	for age, number := range map[time.Duration]int64{time.Minute: 2, time.Minute + moment: 1} {
		t.Run(age.String(), func(t *testing.T) {
			t.Parallel()
			e := afterOutage(start(t))
			e.admit(t, narrow.AlertRequest(editedRepeats, "1", "c", store.Firing, "f"))
			e.Advance(time.Minute)
			e.restore(t, []store.Request{narrow.AlertRequest(editedRepeats, "2", "c", store.Firing, "f")},
				&store.OutageResult{Result: store.Delivered, TS: "2.2", Channel: "C1", Age: age.Microseconds()})
			require.Equal(t, []store.Outcome{store.Merged}, e.admit(t, narrow.AlertRequest(editedRepeats, "3", "c", store.Firing, "f")))
			require.EqualValues(t, 1, e.posted(t, number).Repeats)
		})
	}
}
