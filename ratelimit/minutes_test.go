package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

// The counts of each minute of a day.
func TestMinutesOfADay(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(10), category: perMinute(1)}
		first, all, err := b.Minutes(t.Context(), scope, time.Hour)
		require.NoError(t, err)
		require.Empty(t, all)
		first = first.Truncate(time.Minute)
		b.admit(t, l.request("1", "a"), l.request("2", "a"), l.request("3", "b"))
		b.advance(time.Minute)
		b.admit(t, l.request("4", "b"))
		b.advance(2 * time.Hour)
		b.admit(t, l.request("5", "b"))
		now, all, err := b.Minutes(t.Context(), scope, 3*time.Hour)
		require.NoError(t, err)
		later := first.Add(2*time.Hour + time.Minute)
		require.Equal(t, later, now.Truncate(time.Minute))
		require.Equal(t, []ratelimit.MinuteCount{
			{At: first, Category: "a", Admitted: 1, Dropped: 1},
			{At: first, Category: "b", Admitted: 1},
			{At: first.Add(time.Minute), Category: "b", Admitted: 1},
			{At: later, Category: "b", Admitted: 1},
		}, all)
		_, all, err = b.Minutes(t.Context(), scope, time.Hour)
		require.NoError(t, err)
		require.Len(t, all, 1)
		b.advance(23 * time.Hour)
		_, all, err = b.Minutes(t.Context(), scope, 48*time.Hour)
		require.NoError(t, err)
		require.Len(t, all, 1, "of a day, and no more")
	})
}

// A channel with endless categories is counted within bounds, and nothing is left out.
func TestMinutesAreBounded(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(1_000_000), category: perMinute(1)}
		b.admitCategories(t, l, "c%04d", 6100)
		_, all, err := b.Minutes(t.Context(), scope, time.Hour)
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
	measure := func(what string, play func(b bundle)) {
		client := redistest.Start(t).Client()
		clocked := redistest.NewClocked(t, client, start.Truncate(time.Hour))
		play(bundle{Limiter: ratelimit.NewRedis(clocked, ratelimit.RedisOptions{Now: clocked.Now}), advance: clocked.Advance})
		used := int64(0)
		for _, key := range client.Keys(t.Context(), "*:minutes:*").Val() {
			used += client.MemoryUsage(t.Context(), key, 0).Val()
		}
		t.Logf("%-55s %d", what, used)
		require.LessOrEqual(t, used, documented[what]*11/10, what)
		require.GreaterOrEqual(t, used, documented[what]*5/10, "%s: the figure is out of date", what)
	}
	measure("an hour of 20 categories, admitted and dropped in each minute", func(b bundle) {
		l := limits{channel: perMinute(1_000_000), category: ratelimit.Window{Limit: 1, Per: 30 * time.Second}}
		for minute := range 60 {
			var requests []ratelimit.Request
			for i := range 40 {
				requests = append(requests, l.request(fmt.Sprint(minute, "-", i), fmt.Sprintf("category-%02d", i%20)))
			}
			b.admit(t, requests...)
			b.advance(time.Minute)
		}
	})
	measure("an hour of endless categories", func(b bundle) {
		l := limits{channel: perMinute(1_000_000), category: perMinute(1)}
		b.admitCategories(t, l, "category-%04d", 6500)
	})
}
