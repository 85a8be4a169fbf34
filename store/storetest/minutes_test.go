package storetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// The counts of each minute of a day.
func TestMinutesOfADay(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(10), Category: storetest.PerMinute(1)}
		first, all, err := b.Minutes(t.Context(), storetest.Scope, time.Hour)
		require.NoError(t, err)
		require.Empty(t, all)
		first = first.Truncate(time.Minute)
		b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"), l.Request("3", "b"))
		b.Advance(time.Minute)
		b.MustAdmit(t, l.Request("4", "b"))
		b.Advance(2 * time.Hour)
		b.MustAdmit(t, l.Request("5", "b"))
		now, all, err := b.Minutes(t.Context(), storetest.Scope, 3*time.Hour)
		require.NoError(t, err)
		later := first.Add(2*time.Hour + time.Minute)
		require.Equal(t, later, now.Truncate(time.Minute))
		require.Equal(t, []store.MinuteCount{
			{At: first, Category: "a", Admitted: 1, Dropped: 1},
			{At: first, Category: "b", Admitted: 1},
			{At: first.Add(time.Minute), Category: "b", Admitted: 1},
			{At: later, Category: "b", Admitted: 1},
		}, all)
		_, all, err = b.Minutes(t.Context(), storetest.Scope, time.Hour)
		require.NoError(t, err)
		require.Len(t, all, 1)
		b.Advance(23 * time.Hour)
		_, all, err = b.Minutes(t.Context(), storetest.Scope, 48*time.Hour)
		require.NoError(t, err)
		require.Len(t, all, 1, "of a day, and no more")
	})
}

// A channel with endless categories is counted within bounds, and nothing is left out.
func TestMinutesAreBounded(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(1_000_000), Category: storetest.PerMinute(1)}
		b.AdmitCategories(t, l, "c%04d", 6100)
		_, all, err := b.Minutes(t.Context(), storetest.Scope, time.Hour)
		require.NoError(t, err)
		require.Len(t, all, 6001)
		total := int64(0)
		for _, one := range all {
			total += one.Admitted
		}
		require.Equal(t, int64(6100), total)
	})
}

// What the minutes cost is what the documentation says, or less.
func TestMemoryOfMinutes(t *testing.T) {
	t.Parallel()
	documented := documentedBytes(t)
	measure := func(what string, play func(b storetest.Fixture)) {
		client := redistest.Start(t).Client()
		clocked := redistest.NewClocked(t, client, storetest.StartTime.Truncate(time.Hour))
		play(storetest.Fixture{Limiter: redisstore.New(clocked, redisstore.Options{Now: clocked.Now}), Advance: clocked.Advance})
		used := int64(0)
		for _, key := range client.Keys(t.Context(), "*:minutes:*").Val() {
			used += client.MemoryUsage(t.Context(), key, 0).Val()
		}
		t.Logf("%-55s %d", what, used)
		require.LessOrEqual(t, used, documented[what]*11/10, what)
		require.GreaterOrEqual(t, used, documented[what]*5/10, "%s: the figure is out of date", what)
	}
	measure("an hour of 20 categories, admitted and dropped in each minute", func(b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(1_000_000), Category: ratelimit.Window{Limit: 1, Per: 30 * time.Second}}
		for minute := range 60 {
			var requests []store.Request
			for i := range 40 {
				requests = append(requests, l.Request(fmt.Sprint(minute, "-", i), fmt.Sprintf("category-%02d", i%20)))
			}
			b.MustAdmit(t, requests...)
			b.Advance(time.Minute)
		}
	})
	measure("an hour of endless categories", func(b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(1_000_000), Category: storetest.PerMinute(1)}
		b.AdmitCategories(t, l, "category-%04d", 6500)
	})
}
