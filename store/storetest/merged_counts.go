package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var mergedCountsBehaviours = []behaviour{
	{"CountsOfAReplicaAreMergedOnce", testCountsOfAReplicaAreMergedOnce},
	{"MergedDropsAreKeptInOrderAndBounded", testMergedDropsAreKeptInOrderAndBounded},
	{"MergedCountsReachTheDigest", testMergedCountsReachTheDigest},
	{"MergedCategoriesAreLearnedWhereAsked", testMergedCategoriesAreLearnedWhereAsked},
	{"MergeWithoutDropsWritesNoRecord", testMergeWithoutDropsWritesNoRecord},
}

// counted are n drops of a category, as a replica reports them.
func counted(category string, n int64) store.LocalCounts {
	return store.LocalCounts{
		Totals: map[string]int64{"received": n, "dropped": n}, Categories: map[string]int64{category: n}, KeepDrops: 10,
	}
}

func (b Fixture) mustMerge(t *testing.T, replica string, sequence int64, counts store.LocalCounts) {
	t.Helper()
	require.NoError(t, b.C.MergeCounts(t.Context(), Scope, store.MergeID{Replica: replica, Sequence: sequence}, counts))
}

// A merge adds to the ledger, the categories and the minutes. The same or an older sequence of a replica changes nothing;
// the sequences of another replica are its own.
func testCountsOfAReplicaAreMergedOnce(t *testing.T, start Start) {
	b := start(t)
	b.mustMerge(t, "one", 2, counted("disk", 3))
	b.mustMerge(t, "one", 2, counted("disk", 3))
	b.mustMerge(t, "one", 1, counted("disk", 3))
	require.Equal(t, store.Ledger{Received: 3, Dropped: 3}, b.MustReport(t).Ledger)
	b.mustMerge(t, "two", 1, counted("disk", 1))
	b.mustMerge(t, "one", 3, counted("cpu", 5))
	require.Equal(t, store.Ledger{Received: 9, Dropped: 9}, b.MustReport(t).Ledger)
	categories, err := b.Categories(t.Context(), Scope)
	require.NoError(t, err)
	require.Equal(t, []store.CategoryCounts{{Category: "cpu", Dropped: 5}, {Category: "disk", Dropped: 4}}, categories)
	now, minutes, err := b.Minutes(t.Context(), Scope, time.Hour)
	require.NoError(t, err)
	at := now.Truncate(time.Minute)
	require.Equal(t, []store.MinuteCount{{At: at, Category: "cpu", Dropped: 5}, {At: at, Category: "disk", Dropped: 4}}, minutes)
	b.Advance(24 * time.Hour) // a replica may repeat a call for as long as counts are kept
	b.mustMerge(t, "one", 3, counted("cpu", 5))
	require.Equal(t, int64(9), b.MustReport(t).Ledger.Dropped)
}

// drops are records of drops, oldest first, with numbers of more than one digit.
func drops(n int) []store.Drop {
	all := make([]store.Drop, n)
	for i := range all {
		all[i] = store.Drop{
			Payload: fmt.Append(nil, "event ", i), Category: "disk", Level: "channel", Used: 10 + int64(i), Limit: 20 + int64(i),
			RetryAfter: time.Duration(30+i) * time.Microsecond,
		}
	}
	return all
}

func (b Fixture) dropsBefore(t *testing.T, id string, most int) []store.Drop {
	t.Helper()
	page, err := b.Drops(t.Context(), Scope, id, most)
	require.NoError(t, err)
	return page
}

// The log keeps the newest drops, returns them newest first and in pages, and with all that was recorded.
func testMergedDropsAreKeptInOrderAndBounded(t *testing.T, start Start) {
	b := start(t)
	const kept = 14
	counts := counted("disk", 16)
	counts.Drops, counts.KeepDrops = drops(16), kept
	b.mustMerge(t, "one", 1, counts)
	want := counts.Drops[2:]
	page := b.dropsBefore(t, "", 20)
	require.Len(t, page, kept)
	next := ""
	for i := kept - 1; i >= 0; i-- {
		one := b.dropsBefore(t, next, 1)
		require.Len(t, one, 1)
		require.Equal(t, page[kept-1-i], one[0], "a page begins where the one before it ended")
		next = one[0].ID
		one[0].ID, one[0].At = "", time.Time{}
		require.Equal(t, want[i], one[0])
	}
	require.Empty(t, b.dropsBefore(t, next, 1))

	more := counted("disk", 1)
	more.Drops, more.KeepDrops = drops(1), 0
	b.mustMerge(t, "one", 2, more)
	require.Len(t, b.dropsBefore(t, "", 20), 1, "at least one record is kept")
}

func testMergedCountsReachTheDigest(t *testing.T, start Start) {
	b := start(t)
	counts := counted("disk", 3)
	counts.DigestCounts = map[string]int64{"d:disk:error": 3, "t:disk full": 3}
	b.mustMerge(t, "one", 1, counts)
	b.Advance(time.Second)
	counts.DigestCounts = map[string]int64{"d:disk:error": 2, "x:cpu:warning": 1}
	b.mustMerge(t, "one", 2, counts)
	terms := store.Terms{Pace: store.Pace{Burst: 1}, Digest: store.DigestTerms{Interval: time.Minute, Minimum: 6}}
	b.Advance(59 * time.Second)
	require.NoError(t, b.A.Digest(t.Context(), Scope, terms.Digest))
	digest := digestOf(t, ClaimEntry(t, b.A))
	require.Equal(t, map[string]int64{"d:disk:error": 5, "x:cpu:warning": 1, "t:disk full": 3}, digest.Counts)
	require.Equal(t, time.Second.Microseconds(), digest.Last-digest.From)
}

// With Auto, the channel keeps a slot for each category that it knows. A replica's drops make a category known.
func testMergedCategoriesAreLearnedWhereAsked(t *testing.T, start Start) {
	for name, learn := range map[string]bool{"learned": true, "not learned": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			fair := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}
			b.AdmitOne(t, autoNotice(fair, "1", "heard", 1))
			counts := counted("disk", 1)
			counts.LearnCategories = learn
			b.mustMerge(t, "one", 1, counts)
			want := map[bool]store.Outcome{true: store.Dropped, false: store.Admitted}[learn]
			require.Equal(t, want, b.AdmitOne(t, autoNotice(fair, "2", "heard", 2)).Outcome)
		})
	}
}

func testMergeWithoutDropsWritesNoRecord(t *testing.T, start Start) {
	b := start(t)
	b.mustMerge(t, "one", 1, counted("disk", 1))
	require.Empty(t, b.dropsBefore(t, "", 10))
	b.Advance(time.Hour)
	require.NoError(t, b.A.Digest(t.Context(), Scope, store.DigestTerms{Interval: time.Minute, Minimum: 1}))
	require.Equal(t, store.Empty, Claim(t, b.A, Unpaced).State, "no digest has anything to report")
}
