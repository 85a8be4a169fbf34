package memory

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// lookBack is how long the levels of a channel look back, by name, and since when.
type lookBack struct{ levels map[string]lengthened }

type lengthened struct{ longest, since int64 }

// Warming implements [Limiter].
func (m *Store) Warming(_ context.Context, scope store.Channel, tiers []ratelimit.LevelSpec) ([]time.Duration, error) {
	warming := make([]time.Duration, len(tiers))
	m.data.Do(func(tx *Tx) {
		known := Value[lookBack](tx, scope.Keys().Windows())
		if known.levels == nil {
			known.levels = map[string]lengthened{}
		}
		for i, tier := range tiers {
			now := lengthened{longest: ratelimit.Longest(tier.Windows).Microseconds()}
			if before, ok := known.levels[tier.Name]; ok {
				now.since = before.since
				if now.longest > before.longest {
					now.since = tx.Now
				}
			}
			if now.since+now.longest <= tx.Now {
				now.since = 0
			}
			if now.since > 0 {
				warming[i] = store.Microseconds(now.since + now.longest - tx.Now)
			}
			known.levels[tier.Name] = now
		}
	})
	return warming, nil
}
