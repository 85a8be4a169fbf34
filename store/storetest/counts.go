package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var countsBehaviours = []behaviour{
	{"MutedEventsAreCountedApart", testMutedEventsAreCountedApart},
	{"MinutesAreCountedForADay", testMinutesAreCountedForADay},
	{"MinutesAreBoundedAndLeaveNothingOut", testMinutesAreBoundedAndLeaveNothingOut},
	{"LengthenedWindowIsWarmingUntilItHasFilled", testLengthenedWindowIsWarmingUntilItHasFilled},
	{"CategoriesAreCountedForADay", testCategoriesAreCountedForADay},
	{"AtMostAThousandCategoriesAreCountedByName", testAtMostAThousandCategoriesAreCountedByName},
	{"MergedDropsKeepTheirNameInTheirMinute", testMergedDropsKeepTheirNameInTheirMinute},
	{"ReportOfAnUnusedChannelIsEmpty", testReportOfAnUnusedChannelIsEmpty},
	{"ReportHasTheAgeOfTheOldestEntry", testReportHasTheAgeOfTheOldestEntry},
}

func testMutedEventsAreCountedApart(t *testing.T, start Start) {
	b := start(t)
	require.NoError(t, b.CountMuted(t.Context(), Scope, 3))
	require.Equal(t, store.Admitted, b.AdmitOne(t, narrow.Request("1", "c")).Outcome)
	ledger := b.MustReport(t).Ledger
	require.Equal(t, store.Ledger{Received: 4, Admitted: 1, Muted: 3, Pending: 1}, ledger)
	require.Zero(t, ledger.Imbalance())
}

func testMinutesAreCountedForADay(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(10), Category: PerMinute(1)}
	first, all, err := b.Minutes(t.Context(), Scope, time.Hour)
	require.NoError(t, err)
	require.Empty(t, all)
	first = first.Truncate(time.Minute)
	b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"), l.Request("3", "b"))
	b.Advance(time.Minute)
	b.MustAdmit(t, l.Request("4", "b"))
	b.Advance(2 * time.Hour)
	b.MustAdmit(t, l.Request("5", "b"))
	now, all, err := b.Minutes(t.Context(), Scope, 3*time.Hour)
	require.NoError(t, err)
	later := first.Add(2*time.Hour + time.Minute)
	require.Equal(t, later, now.Truncate(time.Minute))
	require.Equal(t, []store.MinuteCount{
		{At: first, Category: "a", Admitted: 1, Dropped: 1},
		{At: first, Category: "b", Admitted: 1},
		{At: first.Add(time.Minute), Category: "b", Admitted: 1},
		{At: later, Category: "b", Admitted: 1},
	}, all)
	_, all, err = b.Minutes(t.Context(), Scope, time.Hour)
	require.NoError(t, err)
	require.Len(t, all, 1)
	b.Advance(23 * time.Hour)
	_, all, err = b.Minutes(t.Context(), Scope, 48*time.Hour)
	require.NoError(t, err)
	require.Len(t, all, 1, "of one day at most")
}

// A channel with any number of categories needs bounded space, and every event is counted.
func testMinutesAreBoundedAndLeaveNothingOut(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(1_000_000), Category: PerMinute(1)}
	b.AdmitCategories(t, l, "c%04d", 6100)
	_, all, err := b.Minutes(t.Context(), Scope, time.Hour)
	require.NoError(t, err)
	require.Len(t, all, 6001)
	total := int64(0)
	for _, one := range all {
		total += one.Admitted
	}
	require.Equal(t, int64(6100), total)
}

// A window that became longer counts too little until its new length has passed.
func testLengthenedWindowIsWarmingUntilItHasFilled(t *testing.T, start Start) {
	b := start(t)
	warming := func(minutes int) []time.Duration {
		tiers := []ratelimit.LevelSpec{
			{Name: "channel", Windows: []ratelimit.Window{{Limit: 1, Per: time.Duration(minutes) * time.Minute}, {Limit: 1, Per: time.Second}}},
			{Name: "category", Windows: []ratelimit.Window{{Limit: 1, Per: time.Minute}}},
		}
		var all []time.Duration
		for _, tier := range tiers {
			status, err := b.Statuses(t.Context(), []store.StatusQuery{statusQuery(Scope, tier)})
			require.NoError(t, err)
			all = append(all, status[0].Warming)
		}
		return all
	}
	require.Equal(t, []time.Duration{0, 0}, warming(5), "there is nothing that it could miss")
	require.Equal(t, []time.Duration{0, 0}, warming(3), "a shorter one has all it needs")
	b.Advance(time.Hour)
	require.Equal(t, []time.Duration{10 * time.Minute, 0}, warming(10))
	b.Advance(4 * time.Minute)
	require.Equal(t, []time.Duration{6 * time.Minute, 0}, warming(10))
	b.Advance(6 * time.Minute)
	require.Equal(t, []time.Duration{0, 0}, warming(10))
}

func testCategoriesAreCountedForADay(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(10), Category: PerMinute(1)}
	b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"), l.Request("3", "b"))
	b.Advance(2 * time.Hour)
	b.MustAdmit(t, l.Request("4", "a"))
	counts, err := b.Categories(t.Context(), Scope)
	require.NoError(t, err)
	require.Equal(t, []store.CategoryCounts{
		{Category: "a", Admitted: 2, Dropped: 1}, {Category: "b", Admitted: 1},
	}, counts)
	b.Advance(24 * time.Hour)
	counts, err = b.Categories(t.Context(), Scope)
	require.NoError(t, err)
	require.Equal(t, []store.CategoryCounts{{Category: "a", Admitted: 1}}, counts)
}

func testAtMostAThousandCategoriesAreCountedByName(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(5000), Category: PerMinute(1)}
	b.AdmitCategories(t, l, "c%04d", 1100)
	require.Equal(t, "-", Outcomes(b.MustAdmit(t, l.Request("again", "c1099"))), "admission uses the true category")
	require.Equal(t, "-", Outcomes(b.MustAdmit(t, l.Request("known", "c0007"))), "a known category keeps its name")
	counts, err := b.Categories(t.Context(), Scope)
	require.NoError(t, err)
	require.Len(t, counts, 1001)
	require.Equal(t, store.CategoryCounts{Category: "c0007", Admitted: 1, Dropped: 1}, counts[7])
	require.Equal(t, store.CategoryCounts{Category: "other", Admitted: 100, Dropped: 1}, counts[1000])
}

func testReportOfAnUnusedChannelIsEmpty(t *testing.T, start Start) {
	b := start(t)
	require.Equal(t, store.Report{}, b.MustReport(t))
	counts, err := b.Categories(t.Context(), Scope)
	require.NoError(t, err)
	require.Empty(t, counts)
}

func testReportHasTheAgeOfTheOldestEntry(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(10), Category: PerMinute(10)}
	b.MustAdmit(t, l.Request("1", "a"))
	b.Advance(90 * time.Second)
	b.MustAdmit(t, l.Request("2", "a"))
	require.Equal(t, 90*time.Second, b.MustReport(t).Oldest)
}

// The bound of an hour does not bound a minute, also for drops that a replica counted by itself.
func testMergedDropsKeepTheirNameInTheirMinute(t *testing.T, start Start) {
	b := start(t)
	b.AdmitCategories(t, Limits{Channel: PerMinute(5000), Category: PerMinute(1)}, "c%04d", 1000)
	merged := store.LocalCounts{
		Totals: map[string]int64{"received": 2, "dropped": 2}, Categories: map[string]int64{"late": 2},
	}
	require.NoError(t, b.C.MergeCounts(t.Context(), Scope, store.MergeID{Replica: "replica", Sequence: 1}, merged))
	now, all, err := b.Minutes(t.Context(), Scope, time.Hour)
	require.NoError(t, err)
	require.Contains(t, all, store.MinuteCount{At: now.Truncate(time.Minute), Category: "late", Dropped: 2})
	counts, err := b.Categories(t.Context(), Scope)
	require.NoError(t, err)
	require.Contains(t, counts, store.CategoryCounts{Category: "other", Dropped: 2})
}
