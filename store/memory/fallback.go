package memory

import (
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Seed spends units of a level as of a time ago, whatever its limit is. A replica that starts to decide by itself carries
// over what it knows of the shared state.
func (s *Store) Seed(level ratelimit.Level, units int64, ago time.Duration) {
	s.data.Do(func(tx *Tx) {
		state := stateOf(tx, &level)
		state.Load(tx.now, &level)
		keep := ratelimit.Longest(level.Windows)
		state.Add(tx.now-ago.Microseconds(), &level, ratelimit.Charge{
			Units: units, Keep: keep, Limit: ratelimit.LargestLimit(level.Windows),
		})
		tx.put(level.Key, state.Value())
		tx.expire(level.Key, state.Lasts(tx.now)+time.Minute)
	})
}

// Forget deletes the state of levels, by their keys, and the counts of a channel. The ids that were admitted stay known.
func (s *Store) Forget(channel store.Channel, levels []string) {
	s.data.Do(func(tx *Tx) {
		keys := channel.Keys()
		for _, key := range levels {
			tx.remove(key)
		}
		tx.remove(keys.Ledger())
		for i := range store.SeriesHours {
			hour := tx.time.Add(-time.Duration(i) * time.Hour)
			tx.remove(keys.Series(hour))
			tx.remove(keys.Minutes(hour))
		}
	})
}
