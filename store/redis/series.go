package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Categories implements [Limiter].
func (r *Store) Categories(ctx context.Context, scope store.Channel) ([]store.CategoryCounts, error) {
	names, now := scope.Keys(), r.redisTime()
	keys := make([]string, store.SeriesHours)
	for i := range keys {
		keys[i] = names.Series(now.Add(-time.Duration(i) * time.Hour))
	}
	reply, err := run(ctx, r.scripter, lua.Series, keys, nil)
	if err != nil {
		return nil, fmt.Errorf("categories of channel %s: %w", scope.Name, err)
	}
	counts, err := fields(reply)
	if err != nil {
		return nil, fmt.Errorf("categories of channel %s: %w", scope.Name, err)
	}
	return store.ParseCategories(counts), nil
}

// Minutes implements [Limiter].
func (r *Store) Minutes(ctx context.Context, scope store.Channel, back time.Duration) (time.Time, []store.MinuteCount, error) {
	return store.ReadMinutes(r.redisTime(), back, func(hour time.Time) (map[string]int64, error) {
		reply, err := run(ctx, r.scripter, lua.Series, []string{scope.Keys().Minutes(hour)}, nil)
		if err != nil {
			return nil, fmt.Errorf("minutes of channel %s: %w", scope.Name, err)
		}
		counts, err := fields(reply)
		if err != nil {
			return nil, fmt.Errorf("minutes of channel %s: %w", scope.Name, err)
		}
		return counts, nil
	})
}
