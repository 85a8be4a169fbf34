package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var threadsBehaviours = []behaviour{
	{"AnswersAndResolvesAreRepliesToTheirMessage", testAnswersAndResolvesAreRepliesToTheirMessage},
	{"RepeatIsMergedIntoTheMessageOfItsAlert", testRepeatIsMergedIntoTheMessageOfItsAlert},
	{"ResolveEndsTheAlertInAllItsMessages", testResolveEndsTheAlertInAllItsMessages},
	{"MessageListsABoundedNumberOfEarlierOnes", testMessageListsABoundedNumberOfEarlierOnes},
	{"ResolveWithoutAFingerprintEndsNoAlert", testResolveWithoutAFingerprintEndsNoAlert},
	{"MergedEventsAreCountedOnTheLastMessage", testMergedEventsAreCountedOnTheLastMessage},
}

// post admits a request, and has what it queued acknowledged as posted.
func (b Fixture) post(t *testing.T, r store.Request) store.Entry {
	t.Helper()
	require.Equal(t, store.Admitted, b.AdmitOne(t, r).Outcome)
	e := ClaimEntry(t, b.A)
	require.NoError(t, b.A.Ack(t.Context(), Scope, e, store.Receipt{Channel: "C1", TS: "1.000001"}))
	return e
}

func testAnswersAndResolvesAreRepliesToTheirMessage(t *testing.T, start Start) {
	for resolves, isReply := range map[store.ResolvesPolicy]bool{"reply": true, "post": false} {
		t.Run(string(resolves), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			h := &store.MessagePolicy{Overflow: "drop", Resolves: resolves}
			firing := b.post(t, wide.AlertRequest(h, "1", "c", store.Firing, "f"))
			require.Zero(t, firing.Thread)
			answer := wide.AlertRequest(h, "2", "c", "", "g")
			answer.Event.ReplyTo = "f"
			require.Equal(t, firing.Number, b.post(t, answer).Thread)
			resolve := b.post(t, wide.AlertRequest(h, "3", "c", store.Resolved, "f"))
			if isReply {
				require.Equal(t, firing.Number, resolve.Thread)
			} else {
				require.Zero(t, resolve.Thread)
			}
			require.NotZero(t, b.postedMessage(t, firing.Number).Events[0].Resolved)
			require.Zero(t, b.post(t, wide.AlertRequest(h, "4", "c", "", "")).Thread)
		})
	}
}

func testRepeatIsMergedIntoTheMessageOfItsAlert(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
	firing := b.post(t, wide.AlertRequest(h, "1", "c", store.Firing, "f"))
	require.Equal(t, store.Merged, b.AdmitOne(t, wide.AlertRequest(h, "2", "c", store.Firing, "f")).Outcome)
	require.Equal(t, store.Merged, b.AdmitOne(t, wide.AlertRequest(h, "3", "c", store.Resolved, "f")).Outcome)
	require.NotZero(t, b.postedMessage(t, firing.Number).Events[0].Resolved)
	b.post(t, wide.AlertRequest(h, "4", "other", store.Firing, "g"))
	message := b.postedMessage(t, firing.Number)
	require.Len(t, message.Events, 1)
	require.Equal(t, "c", message.Category)
}

// An alert that fires again is another message, which lists the one before. Its resolve ends the alert in both.
func testResolveEndsTheAlertInAllItsMessages(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
	var posts []store.Entry
	for _, id := range []string{"1", "2", "3"} {
		posts = append(posts, b.post(t, wide.AlertRequest(h, id, "c", store.Firing, "f")))
	}
	other := b.post(t, wide.AlertRequest(h, "4", "c", store.Firing, "g"))
	require.Equal(t, store.Merged, b.AdmitOne(t, wide.AlertRequest(h, "5", "c", store.Resolved, "f")).Outcome)
	for _, e := range posts {
		require.NotZero(t, b.postedMessage(t, e.Number).Events[0].Resolved)
	}
	require.Zero(t, b.postedMessage(t, other.Number).Events[0].Resolved)
	edited := map[string]bool{}
	for range posts {
		edit := ClaimEntry(t, b.A)
		require.Equal(t, store.KindEdit, edit.Kind)
		edited[string(edit.Payload)] = true
		require.NoError(t, b.A.Ack(t.Context(), Scope, edit, store.Receipt{}))
	}
	require.Len(t, edited, 3, "an edit of each")
	require.Equal(t, store.Empty, Claim(t, b.A, Unpaced).State)
	require.Equal(t, store.Suppressed, b.AdmitOne(t, wide.AlertRequest(h, "6", "c", store.Resolved, "f")).Outcome, "it is over")
}

// With merge, an event that its category refuses is counted on the last message of the category; one that the channel refuses
// is dropped.
func testMergedEventsAreCountedOnTheLastMessage(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "merge", Resolves: "post"}
	l := Limits{Channel: PerMinute(2), Category: PerMinute(1)}
	first := b.post(t, l.AlertRequest(h, "1", "a", "", ""))
	require.Equal(t, fill(store.Merged, 2), OutcomesOf(b.MustAdmit(t,
		l.AlertRequest(h, "2", "a", "", ""), l.AlertRequest(h, "3", "a", "", ""))))
	require.Equal(t, int64(2), b.postedMessage(t, first.Number).Merged)
	second := b.AdmitOne(t, l.AlertRequest(h, "4", "b", "", ""))
	require.Equal(t, store.Admitted, second.Outcome)
	require.Equal(t, store.Dropped, b.AdmitOne(t, l.AlertRequest(h, "5", "c", "", "")).Outcome, "the channel is full, and it has no message")
}

// A resolve without a fingerprint that replies to a message ends none of its events, those without a fingerprint included.
func testResolveWithoutAFingerprintEndsNoAlert(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "reply"}
	b.MustAdmit(t, bundleOf(wide, h, "@1", event{"1", "f", store.Firing}, event{"2", "", ""})...)
	post := ClaimEntry(t, b.A)
	require.NoError(t, b.A.Ack(t.Context(), Scope, post, store.Receipt{Channel: "C1", TS: "1.000001"}))
	resolve := wide.AlertRequest(h, "3", "c", store.Resolved, "")
	resolve.Event.ReplyTo = "f"
	require.Equal(t, post.Number, b.post(t, resolve).Thread)
	for _, one := range b.postedMessage(t, post.Number).Events {
		require.Zero(t, one.Resolved, one.Payload)
	}
}

// An alert that fires again and again lists its last 16 messages.
func testMessageListsABoundedNumberOfEarlierOnes(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "reply"}
	var posts []store.Entry
	for i := range 18 {
		posts = append(posts, b.post(t, wide.AlertRequest(h, fmt.Sprint(i), "c", store.Firing, "f")))
		message := b.postedMessage(t, posts[i].Number)
		require.Len(t, message.Earlier, min(i, 1), "it lists the one before, which lists its own")
	}
	names := make([]event, 18)
	for i := range names {
		names[i] = event{fmt.Sprint("g", i), fmt.Sprint("g", i), store.Firing}
		b.post(t, wide.AlertRequest(h, fmt.Sprint("one ", i), "c", store.Firing, names[i].fingerprint))
	}
	b.MustAdmit(t, bundleOf(wide, h, "@1", names...)...)
	message := b.postedMessage(t, ClaimEntry(t, b.A).Number)
	require.Len(t, message.Earlier, 16)
	require.Equal(t, fmt.Sprint(posts[17].Number+3), message.Earlier[0], "the oldest two are left out")
}
