package memory

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// modeOpen is the mode of AdmitAll, which no script has.
const modeOpen store.Mode = "open"

// AdmitAll admits requests that are no duplicates, whatever the limits are, and spends their units. Their policy does not
// apply.
func (s *Store) AdmitAll(_ context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return s.decide(modeOpen, channel, requests)
}

// Seed spends units of a level as of a time ago, whatever its limit is. A replica that starts to decide by itself carries
// over what it knows of the shared state.
func (s *Store) Seed(level ratelimit.Level, units int64, ago time.Duration) {
	s.data.Do(func(tx *Tx) {
		state := tx.state(&level)
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
	s.do(channel, func(tx channelTx) {
		for _, key := range levels {
			tx.remove(key)
		}
		tx.remove(tx.keys.Ledger())
		for i := range store.SeriesHours {
			hour := tx.time.Add(-time.Duration(i) * time.Hour)
			tx.remove(tx.keys.Series(hour))
			tx.remove(tx.keys.Minutes(hour))
		}
	})
}
