package memory

import (
	"context"
	"time"

	"slackrelay/store"
)

// Minutes implements [store.Counts]. It is the twin of lua/series.lua.
func (s *Store) Minutes(_ context.Context, channel store.Channel, back time.Duration) (now time.Time, all []store.MinuteCount, err error) {
	s.do(channel, func(tx channelTx) {
		now, all, err = store.ReadMinutes(tx.time, back, func(hour time.Time) (map[string]int64, error) {
			return tx.look(tx.keys.Minutes(hour)), nil
		})
	})
	return now, all, err
}

// Categories implements [store.Counts]. It is the twin of lua/series.lua.
func (s *Store) Categories(_ context.Context, channel store.Channel) ([]store.CategoryCounts, error) {
	sums := map[string]int64{}
	s.do(channel, func(tx channelTx) {
		for i := range store.SeriesHours {
			hour := tx.time.Add(-time.Duration(i) * time.Hour)
			for field, n := range tx.look(tx.keys.Series(hour)) {
				sums[field] += n
			}
		}
	})
	return store.ParseCategories(sums), nil
}
