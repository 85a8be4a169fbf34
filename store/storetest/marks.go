package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var marksBehaviours = []behaviour{
	{"FirstUserIsNotedAndShown", testFirstUserIsNotedAndShown},
	{"MarkNeedsItsMessageAtItsPlace", testMarkNeedsItsMessageAtItsPlace},
	{"MuteEndsInTimeOrWithItsMessage", testMuteEndsInTimeOrWithItsMessage},
	{"RepeatsOfAnAcknowledgedMessageAreMerged", testRepeatsOfAnAcknowledgedMessageAreMerged},
	{"AlertThatFiresAgainIsNotAcknowledged", testAlertThatFiresAgainIsNotAcknowledged},
	{"MarkUsesAnEditThatWaits", testMarkUsesAnEditThatWaits},
	{"InvalidMarksAreRejected", testInvalidMarksAreRejected},
}

// postedRepeats is a policy by which a repeat is a message of its own.
var postedRepeats = &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}

// acknowledging is the change by which a user acknowledges a message that [Fixture.post] posted.
func acknowledging(number int64, user string) store.MarkChange {
	return store.MarkChange{
		Message: number, Place: store.Receipt{Channel: "C1", TS: "1.000001"}, Kind: store.MarkAcknowledged,
		Mark: store.Mark{User: user, Name: "name of " + user},
	}
}

// mustMark makes a change by one of the senders.
func (b Fixture) mustMark(t *testing.T, change store.MarkChange) (store.MarkResult, *store.PostedMessage) {
	t.Helper()
	result, message, err := b.B.Mark(t.Context(), Scope, change)
	require.NoError(t, err)
	if message != nil {
		require.Equal(t, b.postedMessage(t, change.Message), message)
	}
	return result, message
}

// requireEdit requires one edit of a message to wait, and acknowledges it as made.
func (b Fixture) requireEdit(t *testing.T, number int64) {
	t.Helper()
	edit := ClaimEntry(t, b.A)
	require.Equal(t, store.KindEdit, edit.Kind)
	require.Equal(t, fmt.Sprint(number), string(edit.Payload))
	require.NoError(t, b.A.Ack(t.Context(), Scope, edit, store.Receipt{}))
	require.Equal(t, store.Empty, Claim(t, b.A, Unpaced).State)
}

func testFirstUserIsNotedAndShown(t *testing.T, start Start) {
	b := start(t)
	firing := b.post(t, wide.AlertRequest(postedRepeats, "1", "c", store.Firing, "f")).Number
	at := b.Now().UnixMicro()
	result, message := b.mustMark(t, acknowledging(firing, "U1"))
	require.Equal(t, store.MarkChanged, result)
	require.Equal(t, &store.Mark{User: "U1", Name: "name of U1", At: at}, message.Acknowledged)
	require.Equal(t, firing+1, message.LastEdit)
	b.requireEdit(t, firing)
	require.Equal(t, int64(1), b.Usage(t, wide.Request("x", "c")), "edits use no slot")
	b.Advance(time.Minute)
	for _, user := range []string{"U2", "U1"} {
		before := b.Snapshot(t)
		result, message = b.mustMark(t, acknowledging(firing, user))
		require.Equal(t, store.MarkUnchanged, result)
		require.Equal(t, "U1", message.Acknowledged.User)
		require.Equal(t, before, b.Snapshot(t))
	}
	removal := acknowledging(firing, "U2")
	removal.Remove = true
	result, message = b.mustMark(t, removal)
	require.Equal(t, store.MarkChanged, result)
	require.Nil(t, message.Acknowledged)
	b.requireEdit(t, firing)
	result, _ = b.mustMark(t, removal)
	require.Equal(t, store.MarkUnchanged, result)
	require.Equal(t, store.Empty, Claim(t, b.A, Unpaced).State)
	require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, b.MustReport(t).Ledger)
}

func testMarkNeedsItsMessageAtItsPlace(t *testing.T, start Start) {
	b := start(t)
	posted := b.post(t, wide.AlertRequest(postedRepeats, "1", "c", store.Firing, "f")).Number
	other := b.post(t, wide.AlertRequest(postedRepeats, "plain", "c", "", "")).Number
	require.Equal(t, store.Admitted, b.AdmitOne(t, wide.AlertRequest(postedRepeats, "2", "c", store.Firing, "g")).Outcome)
	for name, row := range map[string]struct {
		number int64
		place  store.Receipt
	}{
		"another channel":        {posted, store.Receipt{Channel: "C2", TS: "1.000001"}},
		"another ts":             {posted, store.Receipt{Channel: "C1", TS: "1.000002"}},
		"unknown number":         {posted + 1000, store.Receipt{Channel: "C1", TS: "1.000001"}},
		"not posted yet":         {other + 1, store.Receipt{Channel: "C1", TS: "1.000001"}},
		"message without alerts": {other, store.Receipt{Channel: "C1", TS: "1.000001"}},
	} {
		for _, kind := range []store.MarkKind{store.MarkAcknowledged, store.MarkMuted} {
			change := acknowledging(row.number, "U1")
			change.Place, change.Kind = row.place, kind
			before := b.Snapshot(t)
			result, message := b.mustMark(t, change)
			require.Equal(t, store.MarkNoMessage, result, name)
			require.Nil(t, message, name)
			require.Equal(t, before, b.Snapshot(t), name)
		}
	}
	require.Equal(t, store.Merged, b.AdmitOne(t, wide.AlertRequest(postedRepeats, "3", "c", store.Resolved, "f")).Outcome)
	before := b.Snapshot(t)
	for _, remove := range []bool{true, false} {
		change := acknowledging(posted, "U1")
		change.Remove = remove
		result, message := b.mustMark(t, change)
		require.Equal(t, store.MarkOver, result)
		require.NotNil(t, message)
	}
	require.Equal(t, before, b.Snapshot(t))
}

func testMuteEndsInTimeOrWithItsMessage(t *testing.T, start Start) {
	b := start(t)
	firing := b.post(t, wide.AlertRequest(postedRepeats, "1", "c", store.Firing, "f")).Number
	change := acknowledging(firing, "U1")
	change.Kind, change.For, change.Mark.Silence = store.MarkMuted, time.Hour, "one"
	_, message := b.mustMark(t, change)
	at := b.Now()
	want := &store.Mark{User: "U1", Name: "name of U1", At: at.UnixMicro(), Silence: "one", Until: at.Add(time.Hour).UnixMicro()}
	require.Equal(t, want, message.Muted)
	require.Nil(t, message.Acknowledged)
	result, _ := b.mustMark(t, acknowledging(firing, "U2"))
	require.Equal(t, store.MarkChanged, result, "a message has a mark of each kind")
	removal := change
	removal.Remove, removal.For, removal.Mark = true, 0, store.Mark{Silence: "two"}
	result, message = b.mustMark(t, removal)
	require.Equal(t, store.MarkUnchanged, result, "another mute")
	require.Equal(t, want, message.Muted)
	removal.Mark.Silence = "one"
	result, message = b.mustMark(t, removal)
	require.Equal(t, store.MarkChanged, result)
	require.Nil(t, message.Muted)
	require.Equal(t, "U2", message.Acknowledged.User)
	change.For, change.Mark.Silence = 0, "three"
	_, message = b.mustMark(t, change)
	require.Equal(t, int64(0), message.Muted.Until)
	removal.Mark.Silence = ""
	result, _ = b.mustMark(t, removal)
	require.Equal(t, store.MarkChanged, result, "whichever it is")
	for duration, want := range map[time.Duration]int64{time.Microsecond: b.Now().UnixMicro() + 1, time.Microsecond - 1: 0} {
		change.For = duration
		_, message = b.mustMark(t, change)
		require.Equal(t, want, message.Muted.Until, "whole microseconds")
		b.mustMark(t, removal)
	}
}

func testRepeatsOfAnAcknowledgedMessageAreMerged(t *testing.T, start Start) {
	for _, overflow := range []store.OverflowPolicy{"drop", "delay", "merge"} {
		t.Run(string(overflow), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			h := &store.MessagePolicy{Overflow: overflow, Resolves: "edit", MaxDelayed: 3, MaxDelay: time.Hour}
			firing := b.post(t, wide.AlertRequest(h, "1", "c", store.Firing, "f")).Number
			b.post(t, wide.AlertRequest(h, "2", "c", store.Firing, "other"))
			b.mustMark(t, acknowledging(firing, "U1"))
			b.requireEdit(t, firing)
			require.Equal(t, []store.Outcome{store.Merged, store.Merged, store.Admitted}, OutcomesOf(b.MustAdmit(t,
				wide.AlertRequest(h, "3", "c", store.Firing, "f"), wide.AlertRequest(h, "4", "c", store.Firing, "f"),
				wide.AlertRequest(h, "5", "c", store.Firing, "other"))))
			require.EqualValues(t, 2, b.postedMessage(t, firing).Repeats)
			removal := acknowledging(firing, "U1")
			removal.Remove = true
			b.mustMark(t, removal)
			require.Equal(t, store.Admitted, b.AdmitOne(t, wide.AlertRequest(h, "6", "c", store.Firing, "f")).Outcome)
		})
	}
}

func testAlertThatFiresAgainIsNotAcknowledged(t *testing.T, start Start) {
	b := start(t)
	b.MustAdmit(t, bundleOf(wide, postedRepeats, "@1", event{"1", "f", store.Firing}, event{"2", "g", store.Firing})...)
	post := ClaimEntry(t, b.A)
	require.NoError(t, b.A.Ack(t.Context(), Scope, post, store.Receipt{Channel: "C1", TS: "1.000001"}))
	b.mustMark(t, acknowledging(post.Number, "U1"))
	require.Equal(t, []store.Outcome{store.Merged, store.Merged, store.Merged, store.Admitted}, OutcomesOf(b.MustAdmit(t,
		wide.AlertRequest(postedRepeats, "3", "c", store.Firing, "f"), wide.AlertRequest(postedRepeats, "4", "c", store.Firing, "g"),
		wide.AlertRequest(postedRepeats, "5", "c", store.Resolved, "f"), wide.AlertRequest(postedRepeats, "6", "c", store.Firing, "f"))))
	message := b.postedMessage(t, post.Number)
	require.NotNil(t, message.Acknowledged)
	require.EqualValues(t, 2, message.Repeats)
	require.Nil(t, b.postedMessage(t, message.LastEdit+1).Acknowledged, "the new message of the alert")
}

func testMarkUsesAnEditThatWaits(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true, EditEvery: time.Minute}
	firing := b.post(t, wide.AlertRequest(h, "1", "c", store.Firing, "f")).Number
	b.MustAdmit(t, wide.AlertRequest(h, "2", "c", store.Firing, "f"))
	b.requireEdit(t, firing)
	b.MustAdmit(t, wide.AlertRequest(h, "3", "c", store.Firing, "f"))
	require.Equal(t, store.Empty, Claim(t, b.A, Unpaced).State, "its edit is due later")
	b.mustMark(t, acknowledging(firing, "U1"))
	muting := acknowledging(firing, "U1")
	muting.Kind = store.MarkMuted
	b.mustMark(t, muting)
	b.requireEdit(t, firing)
}

func testInvalidMarksAreRejected(t *testing.T, start Start) {
	b := start(t)
	firing := b.post(t, wide.AlertRequest(postedRepeats, "1", "c", store.Firing, "f")).Number
	long := strings.Repeat("x", 201)
	before := b.Snapshot(t)
	for name, change := range map[string]func(c *store.MarkChange){
		"no message":   func(c *store.MarkChange) { c.Message = 0 },
		"no channel":   func(c *store.MarkChange) { c.Place.Channel = "" },
		"no ts":        func(c *store.MarkChange) { c.Place.TS = "" },
		"no kind":      func(c *store.MarkChange) { c.Kind = "" },
		"no user":      func(c *store.MarkChange) { c.Mark.User = "" },
		"long user":    func(c *store.MarkChange) { c.Mark.User = long },
		"long name":    func(c *store.MarkChange) { c.Mark.Name = long },
		"long silence": func(c *store.MarkChange) { c.Mark.Silence = long },
		"negative":     func(c *store.MarkChange) { c.For = -1 },
		"too long":     func(c *store.MarkChange) { c.For = 366*24*time.Hour + 1 },
	} {
		bad := acknowledging(firing, "U1")
		change(&bad)
		_, _, err := b.B.Mark(t.Context(), Scope, bad)
		require.ErrorIs(t, err, ratelimit.ErrRequest, name)
	}
	require.Equal(t, before, b.Snapshot(t))
	most := acknowledging(firing, long[1:])
	most.Mark.Name, most.Mark.Silence, most.For = long[1:], long[1:], 366*24*time.Hour
	result, _ := b.mustMark(t, most)
	require.Equal(t, store.MarkChanged, result)
}

// mark sets or removes a mark of some message.
func (h *comparison) mark(t *rapid.T) {
	h.t = t
	number := rapid.Int64Range(1, 16).Draw(t, "message")
	change := store.MarkChange{
		Message: number, Place: store.Receipt{Channel: "C1", TS: fmt.Sprint(number, ".000001")},
		Kind:   rapid.SampledFrom([]store.MarkKind{store.MarkAcknowledged, store.MarkMuted}).Draw(t, "kind"),
		Remove: rapid.IntRange(0, 3).Draw(t, "remove") == 0,
		Mark:   store.Mark{User: "U1", Silence: rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "silence")},
		For:    time.Duration(rapid.IntRange(0, 1).Draw(t, "minutes")) * time.Minute,
	}
	type marked struct {
		result  store.MarkResult
		message *store.PostedMessage
	}
	same(h, "mark", func(w Fixture) (m marked, err error) {
		m.result, m.message, err = w.A.Mark(t.Context(), Scope, change)
		return m, err
	})
}
