package memory

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// memory implements [engine]: it is as large as the process may become.
func (*Store) Memory(context.Context, store.Channel) (used, most int64, err error) {
	return 0, 0, nil
}

// seed takes units of a level as of a time ago, whatever its limit says.
func (m *Store) Seed(level ratelimit.Level, units int64, ago time.Duration) {
	m.data.Do(func(tx *Tx) {
		s := stateOf(tx, &level)
		s.Load(tx.Now, &level)
		keep := ratelimit.Longest(level.Windows)
		s.Add(tx.Now-ago.Microseconds(), &level, ratelimit.Charge{Units: units, Keep: keep, Limit: ratelimit.LargestLimit(level.Windows)})
		tx.Put(level.Key, s.Value())
		tx.Expire(level.Key, 2*keep+time.Minute)
	})
}

// forget ends what the engine knows of a channel, but for the ids that it admitted.
func (m *Store) Forget(scope store.Channel, levels []string) {
	m.data.Do(func(tx *Tx) {
		for _, key := range levels {
			tx.Delete(key)
		}
		tx.Delete(scope.Keys().Ledger())
		for i := range store.SeriesHours {
			tx.Delete(scope.Keys().Series(tx.Time.Add(-time.Duration(i) * time.Hour)))
			tx.Delete(scope.Keys().Minutes(tx.Time.Add(-time.Duration(i) * time.Hour)))
		}
	})
}
