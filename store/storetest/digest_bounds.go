package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var digestBoundsBehaviours = []behaviour{
	{"DigestIsDueAtTheInstantOfItsTerms", testDigestIsDueAtTheInstantOfItsTerms},
	{"DigestWithFewerEventsThanTheMinimumIsForgotten", testDigestWithFewerEventsThanTheMinimumIsForgotten},
	{"DigestIsEditedAndClosedAtTheInstant", testDigestIsEditedAndClosedAtTheInstant},
	{"DigestNamesTheCategoriesThatWereSilent", testDigestNamesTheCategoriesThatWereSilent},
	{"DigestNamesNoCategoryOfWhichAnAdmissionMayBeForgotten", testDigestNamesNoCategoryOfWhichAnAdmissionMayBeForgotten},
	{"LongDigestKnowsWhatWasAdmittedDaysAgo", testLongDigestKnowsWhatWasAdmittedDaysAgo},
	{"DigestCountsAreBoundedAndLeaveNothingOut", testDigestCountsAreBoundedAndLeaveNothingOut},
	{"SingleCountMakesADigest", testSingleCountMakesADigest},
	{"TitlesNeverDisplaceCounts", testTitlesNeverDisplaceCounts},
}

const digestInterval = 10 * time.Minute

// digestTerms edit a digest every 30 s, or not at all, and need two events.
func digestTerms(editEvery time.Duration) store.Terms {
	return store.Terms{Pace: store.Pace{Burst: 1}, Digest: store.DigestTerms{Interval: digestInterval, EditEvery: editEvery, Minimum: 2}}
}

// stateOfDigest is the state of a claim, before and after the digest was asked for.
func (b Fixture) stateOfDigest(t *testing.T, terms store.Terms) store.ClaimState {
	t.Helper()
	state := Claim(t, b.A, terms).State
	require.NoError(t, b.A.Digest(t.Context(), Scope, terms.Digest))
	after, err := b.B.Claim(t.Context(), Scope, terms, true)
	require.NoError(t, err)
	require.Equal(t, state == store.DigestDue, after.State == store.PostReady || after.State == store.EditReady, after.State)
	return state
}

// A digest that can be edited is posted a third of the edit interval after its first event; another at the end of its interval.
func testDigestIsDueAtTheInstantOfItsTerms(t *testing.T, start Start) {
	for name, row := range map[string]struct{ editEvery, due time.Duration }{
		"edited":        {30 * time.Second, 10 * time.Second},
		"not edited":    {0, digestInterval},
		"edited seldom": {time.Hour, digestInterval},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			terms := digestTerms(row.editEvery)
			b.DropForDigest(t, "disk", 2)
			b.Advance(row.due - time.Microsecond)
			require.Equal(t, store.Empty, b.stateOfDigest(t, terms))
			b.Advance(time.Microsecond)
			require.Equal(t, store.DigestDue, b.stateOfDigest(t, terms))
		})
	}
}

// Fewer events wait until the end of the interval, and are forgotten then.
func testDigestWithFewerEventsThanTheMinimumIsForgotten(t *testing.T, start Start) {
	b := start(t)
	terms := digestTerms(30 * time.Second)
	b.DropForDigest(t, "disk", 1)
	b.Advance(digestInterval - time.Microsecond)
	require.Equal(t, store.Empty, b.stateOfDigest(t, terms))
	b.Advance(time.Microsecond)
	due := Claim(t, b.A, terms)
	require.Equal(t, store.Claim{State: store.DigestDue}, due)
	require.NoError(t, b.A.Digest(t.Context(), Scope, terms.Digest))
	require.Equal(t, store.Claim{State: store.Empty}, Claim(t, b.A, terms))
	b.DropForDigest(t, "cpu", 1)
	b.Advance(10 * time.Second)
	require.Equal(t, store.Empty, b.stateOfDigest(t, terms), "the one that was forgotten does not count")
}

func testDigestIsEditedAndClosedAtTheInstant(t *testing.T, start Start) {
	b := start(t)
	terms := digestTerms(30 * time.Second)
	send := func() (store.Entry, store.Digest) {
		e := Claim(t, b.A, terms).Entry
		require.NoError(t, b.A.Ack(t.Context(), Scope, e, store.Receipt{Channel: "C1", TS: "1.000001"}))
		return e, digestOf(t, e)
	}
	b.DropForDigest(t, "disk", 2)
	begin := b.Now()
	b.Advance(10 * time.Second)
	require.Equal(t, store.DigestDue, b.stateOfDigest(t, terms))
	post, first := send()
	require.Equal(t, begin.UnixMicro(), first.From)
	require.Equal(t, begin.UnixMicro(), first.Last)
	require.Equal(t, post.Number, first.Post)
	require.Equal(t, fmt.Sprint(Scope.Name, ":", begin.UnixMicro()), first.ID)

	b.Advance(time.Second)
	b.DropForDigest(t, "cpu", 1)
	added := b.Now()
	b.Advance(29*time.Second - time.Microsecond)
	require.Equal(t, store.Empty, b.stateOfDigest(t, terms))
	b.Advance(time.Microsecond)
	require.Equal(t, store.DigestDue, b.stateOfDigest(t, terms))
	_, edit := send()
	require.Equal(t, first.From, edit.From)
	require.Equal(t, added.UnixMicro(), edit.Last)
	require.Equal(t, first.ID, edit.ID)

	b.Advance(digestInterval - 30*time.Second - time.Microsecond)
	require.Equal(t, store.Empty, b.stateOfDigest(t, terms), "nothing was added, and it is not over")
	moved := begin.Add(40 * time.Second)
	b.Advance(time.Microsecond)
	require.Equal(t, store.DigestDue, b.stateOfDigest(t, terms))
	_, last := send()
	require.True(t, last.Closed)
	require.GreaterOrEqual(t, last.Last, moved.UnixMicro(), "with nothing new, it reports when it was last changed")
	require.Equal(t, edit.Counts, last.Counts)
}

// A category is silent when nothing of it was admitted for as long as an interval before the digest began.
func testDigestNamesTheCategoriesThatWereSilent(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		before time.Duration
		want   []string
	}{
		"an interval before": {digestInterval, []string{"cpu", "disk"}},
		"a moment later":     {digestInterval - time.Microsecond, []string{"cpu"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true}
			b.AdmitOne(t, Small.AlertRequest(h, "1", "disk", "", ""))
			require.NoError(t, b.A.Ack(t.Context(), Scope, ClaimEntry(t, b.A), store.Receipt{}))
			b.Advance(row.before)
			b.DropForDigest(t, "disk", 1)
			b.DropForDigest(t, "cpu", 1)
			b.Advance(digestInterval)
			terms := digestTerms(0)
			require.NoError(t, b.A.Digest(t.Context(), Scope, terms.Digest))
			require.Equal(t, row.want, digestOf(t, ClaimEntry(t, b.A)).Silent)
		})
	}
}

// The last admissions of a thousand categories are known. Those that are counted as others have no name.
func testDigestNamesNoCategoryOfWhichAnAdmissionMayBeForgotten(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		before time.Duration
		want   []string
	}{
		"heard perhaps": {0, nil}, "heard before": {digestInterval, []string{"c0", "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true}
			for from := 0; from <= store.MaxCategories; from += 77 {
				var all []store.Request
				for i := range 77 {
					id := fmt.Sprint("c", from+i)
					all = append(all, wide.AlertRequest(h, id, id, "", ""))
				}
				b.MustAdmit(t, all...)
				b.Advance(time.Microsecond)
			}
			b.Advance(row.before)
			for _, category := range []string{"c0", "new", store.OtherCategory} {
				b.DropForDigest(t, category, 1)
			}
			b.Advance(digestInterval)
			require.NoError(t, b.A.Digest(t.Context(), Scope, digestTerms(0).Digest))
			e := ClaimEntry(t, b.A)
			for e.Kind != store.KindDigest {
				require.NoError(t, b.A.Ack(t.Context(), Scope, e, store.Receipt{}))
				e = ClaimEntry(t, b.A)
			}
			require.Equal(t, row.want, digestOf(t, e).Silent)
		})
	}
}

// A digest of a week names no category as silent of which something was admitted days ago, while the channel admits anything.
func testLongDigestKnowsWhatWasAdmittedDaysAgo(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true}
	for i, category := range []string{"disk", "cpu", "cpu"} {
		b.AdmitOne(t, Small.AlertRequest(h, fmt.Sprint(i), category, "", ""))
		require.NoError(t, b.A.Ack(t.Context(), Scope, ClaimEntry(t, b.A), store.Receipt{}))
		b.Advance(40 * time.Hour)
	}
	b.DropForDigest(t, "disk", 1)
	b.DropForDigest(t, "network", 1)
	week := store.DigestTerms{Interval: 7 * 24 * time.Hour, EditEvery: 30 * time.Second, Minimum: 1}
	b.Advance(10 * time.Second)
	require.NoError(t, b.A.Digest(t.Context(), Scope, week))
	require.Equal(t, []string{"network"}, digestOf(t, ClaimEntry(t, b.A)).Silent)
}

// namedCounts are n counts of one each.
func namedCounts(format string, from, n int) map[string]int64 {
	counts := map[string]int64{}
	for i := range n {
		counts[fmt.Sprintf(format, from+i)] = 1
	}
	return counts
}

// noteForDigest counts for the next digest, as a replica does.
func (b Fixture) noteForDigest(t *testing.T, sequence int64, counts map[string]int64) {
	t.Helper()
	b.mustMerge(t, "one", sequence, store.LocalCounts{DigestCounts: counts, KeepDrops: 1})
}

// digestAtTheEnd is the digest that is due when the interval is over.
func (b Fixture) digestAtTheEnd(t *testing.T) store.Digest {
	t.Helper()
	b.Advance(digestInterval)
	require.NoError(t, b.A.Digest(t.Context(), Scope, digestTerms(0).Digest))
	return digestOf(t, ClaimEntry(t, b.A))
}

// Beyond a thousand names, a digest counts under "other".
func testDigestCountsAreBoundedAndLeaveNothingOut(t *testing.T, start Start) {
	b := start(t)
	b.noteForDigest(t, 1, namedCounts("d:c%04d:error", 0, 999))
	b.noteForDigest(t, 2, map[string]int64{"d:c0000:error": 5})
	b.noteForDigest(t, 3, namedCounts("d:more%04d:error", 0, 20))
	b.noteForDigest(t, 4, map[string]int64{"x:late:error": 3, "d:c0001:error": 2})
	digest := b.digestAtTheEnd(t)
	total := int64(0)
	for _, n := range digest.Counts {
		total += n
	}
	require.Equal(t, int64(999+5+20+3+2), total)
	require.Equal(t, int64(6), digest.Counts["d:c0000:error"])
	require.Equal(t, int64(3), digest.Counts["d:c0001:error"], "a known name keeps its count")
	require.Equal(t, int64(3), digest.Counts["x:other:warning"])
	require.InDelta(t, 1_000, len(digest.Counts), 4)
	require.NotContains(t, digest.Counts, "x:late:error")
	require.InDelta(t, 20, digest.Counts["d:other:warning"], 3)
}

// Titles have room for 300 names only, and are left out beyond; they are no events, and make no digest due.
func testTitlesNeverDisplaceCounts(t *testing.T, start Start) {
	b := start(t)
	b.noteForDigest(t, 1, namedCounts("t:title %d", 0, 305))
	b.Advance(time.Hour)
	require.Equal(t, store.Empty, Claim(t, b.A, digestTerms(0)).State)
	b.noteForDigest(t, 2, namedCounts("d:c%04d:error", 0, 100))
	digest := b.digestAtTheEnd(t)
	require.Len(t, digest.Counts, 400)
	require.NotContains(t, digest.Counts, "d:other:warning")
	require.NotContains(t, digest.Counts, "t:other:warning")
	require.Len(t, digest.Silent, 100, "a title is no category")
	require.Equal(t, "c0000", digest.Silent[0])
}

func testSingleCountMakesADigest(t *testing.T, start Start) {
	b := start(t)
	b.noteForDigest(t, 1, map[string]int64{"x:disk:error": 2})
	require.Equal(t, map[string]int64{"x:disk:error": 2}, b.digestAtTheEnd(t).Counts)
}
