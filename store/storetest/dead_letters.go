package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var deadLettersBehaviours = []behaviour{
	{"DeadLettersAreListedInPagesAndCountedWhenDeleted", testDeadLettersAreListedInPagesAndCountedWhenDeleted},
	{"DeadLettersAreListedNewestFirst", testDeadLettersAreListedNewestFirst},
	{"DeadLettersAreBoundedInBytes", testDeadLettersAreBoundedInBytes},
	{"BuryKeepsTheNewestDeadLetters", testBuryKeepsTheNewestDeadLetters},
}

func testDeadLettersAreListedNewestFirst(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 3)
	fallback := store.Channel{Group: "alerts", Name: "alerts~fallback"}
	for range 3 {
		reason := store.DeadReason{Reason: "is_archived", Answer: "no", CopyTo: &fallback}
		require.NoError(t, b.A.Bury(t.Context(), Scope, ClaimEntry(t, b.A), reason))
		b.Advance(time.Second)
	}
	letters, err := b.A.DeadLetters(t.Context(), Scope, "", 10)
	require.NoError(t, err)
	require.Len(t, letters, 2, "as many as are kept")
	require.Equal(t, "3 of 3", string(letters[0].Payload))
	require.Equal(t, "message", letters[0].Kind)
	require.Equal(t, "is_archived", letters[0].Reason)
	require.Equal(t, "no", letters[0].Answer)
	require.Equal(t, int64(1), letters[0].Attempts)
	page, err := b.A.DeadLetters(t.Context(), Scope, letters[0].ID, 10)
	require.NoError(t, err)
	require.Equal(t, letters[1:], page)
	n, err := b.B.DeleteDead(t.Context(), Scope, letters[0].ID, "1-1")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	copied, err := b.A.Claim(t.Context(), fallback, Unpaced, false)
	require.NoError(t, err)
	require.Equal(t, store.KindCopy, copied.Entry.Kind)
	require.Equal(t, "1 of 3", string(copied.Entry.Payload))
}

// Dead letters are bounded in bytes, too: the oldest go first.
func testDeadLettersAreBoundedInBytes(t *testing.T, start Start) {
	b := start(t)
	all := b.C
	for from := 0; from < 300; from += 100 {
		requests := largeRequests(300, 1000, &store.MessagePolicy{Overflow: "drop", Resolves: "post"}, "")
		_, err := b.Admit(t.Context(), Scope, requests[from:from+100])
		require.NoError(t, err)
	}
	for range 300 {
		require.NoError(t, all.Bury(t.Context(), Scope, ClaimEntry(t, all), store.DeadReason{Reason: "is_archived"}))
	}
	letters, err := all.DeadLetters(t.Context(), Scope, "", 1000)
	require.NoError(t, err)
	size := 0
	for _, letter := range letters {
		size += len(letter.Payload)
	}
	require.LessOrEqual(t, size, 8<<20)
	require.Greater(t, size, 7<<20, "no more is lost than must be")
	require.Equal(t, int64(300), letters[0].Number)
	require.Equal(t, int64(300-len(letters)+1), letters[len(letters)-1].Number)
}

func testBuryKeepsTheNewestDeadLetters(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 4)
	for range 3 { // more than are kept
		entry := ClaimEntry(t, b.A)
		require.NoError(t, b.A.Bury(t.Context(), Scope, entry, store.DeadReason{Reason: "channel_not_found", Answer: "no"}))
	}
	require.Equal(t, "4 of 4", string(ClaimEntry(t, b.A).Payload))
	require.Equal(t, store.Ledger{Received: 4, Admitted: 4, Failed: 3, Pending: 1}, b.BalancedReport(t).Ledger)
}

func testDeadLettersAreListedInPagesAndCountedWhenDeleted(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 12)
	for range 12 {
		require.NoError(t, b.C.Bury(t.Context(), Scope, ClaimEntry(t, b.C), store.DeadReason{Reason: "no"}))
	}
	var ids []string
	before := ""
	for _, want := range []int{5, 5, 2, 0} {
		page, err := b.C.DeadLetters(t.Context(), Scope, before, 5)
		require.NoError(t, err)
		require.Len(t, page, want)
		for _, letter := range page {
			ids = append(ids, letter.ID)
			before = letter.ID
		}
	}
	require.Len(t, ids, 12)
	for _, want := range []int{3, 0} {
		deleted, err := b.C.DeleteDead(t.Context(), Scope, ids[0], ids[4], ids[11])
		require.NoError(t, err)
		require.Equal(t, want, deleted)
	}
	rest, err := b.C.DeadLetters(t.Context(), Scope, "", 20)
	require.NoError(t, err)
	require.Len(t, rest, 9)
}
