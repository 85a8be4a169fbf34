package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Categories implements [store.Counts].
func (r *Store) Categories(ctx context.Context, channel store.Channel) ([]store.CategoryCounts, error) {
	now := r.redisTime()
	keys := make([]string, store.SeriesHours)
	for i := range keys {
		keys[i] = channel.Keys().Series(now.Add(-time.Duration(i) * time.Hour))
	}
	totals, err := r.series(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("categories of channel %s: %w", channel.Name, err)
	}
	return store.ParseCategories(totals), nil
}

// Minutes implements [store.Counts].
func (r *Store) Minutes(
	ctx context.Context, channel store.Channel, back time.Duration,
) (now time.Time, all []store.MinuteCount, err error) {
	return store.ReadMinutes(r.redisTime(), back, func(hour time.Time) (map[string]int64, error) {
		fields, err := r.series(ctx, []string{channel.Keys().Minutes(hour)})
		if err != nil {
			return nil, fmt.Errorf("minutes of channel %s: %w", channel.Name, err)
		}
		return fields, nil
	})
}

// series returns the counts of hashes, added up by field.
func (r *Store) series(ctx context.Context, keys []string) (map[string]int64, error) {
	reply, err := r.run(ctx, lua.Series, keys)
	if err != nil {
		return nil, err
	}
	return counts(reply)
}
