package memory

import (
	"context"
	"time"

	"slackrelay/store"
)

// Minutes implements [store.Counts]. It is the twin of lua/series.lua.
func (s *Store) Minutes(_ context.Context, channel store.Channel, back time.Duration) (now time.Time, all []store.MinuteCount, err error) {
	s.data.Do(func(tx *Tx) {
		now, all, err = store.ReadMinutes(tx.time, back, func(hour time.Time) (map[string]int64, error) {
			return Look[counts](tx, channel.Keys().Minutes(hour)).all(), nil
		})
	})
	return now, all, err
}

// Categories implements [store.Counts]. It is the twin of lua/series.lua.
func (s *Store) Categories(_ context.Context, channel store.Channel) ([]store.CategoryCounts, error) {
	sums := map[string]int64{}
	s.data.Do(func(tx *Tx) {
		for i := range store.SeriesHours {
			key := channel.Keys().Series(tx.time.Add(-time.Duration(i) * time.Hour))
			for field, n := range Look[counts](tx, key).all() {
				sums[field] += n
			}
		}
	})
	return store.ParseCategories(sums), nil
}
