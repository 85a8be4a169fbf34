package ratelimit

import (
	"context"
	"time"

	"slackrelay/lua/memstore"
)

// restore implements [engine].
func (m *Memory) restore(_ context.Context, scope Scope, requests []Request, f fold) error {
	if err := check(requests); err != nil {
		return err
	}
	m.store.Do(func(tx *memstore.Tx) {
		if newFold(tx, scope, f) {
			m.batch(tx, modeRestore, scope, requests).run(requests)
		}
	})
	return nil
}

// folds remember the last fold of each replica.
type folds struct{ last map[string]int64 }

// newFold notes a fold, and tells whether it is new.
func newFold(tx *memstore.Tx, scope Scope, f fold) bool {
	known := memstore.Value[folds](tx, scope.keys().Folds())
	if known.last[f.replica] >= f.sequence {
		return false
	}
	if known.last == nil {
		known.last = map[string]int64{}
	}
	known.last[f.replica] = f.sequence
	tx.Expire(scope.keys().Folds(), seriesFor)
	return true
}

// fold implements [engine].
func (m *Memory) fold(_ context.Context, scope Scope, f fold, drops drops) error {
	m.store.Do(func(tx *memstore.Tx) {
		if !newFold(tx, scope, f) {
			return
		}
		ledger := memstore.Value[memstore.Counts](tx, scope.keys().Ledger())
		for name, n := range drops.totals {
			ledger.Add(name, n)
		}
		keepDrops(tx, scope, drops, tx.Time)
		for category, n := range drops.categories {
			countInSeries(tx, scope, category, Dropped, n)
			if drops.learn {
				memstore.Value[categories](tx, scope.keys().Known()).set(category, tx.Now)
			}
		}
	})
	return nil
}

// heartbeat implements [engine]: this process is alone, and its data ends with it.
func (*Memory) heartbeat(context.Context, beat) (pulse, error) {
	return pulse{alive: 1, epoch: "memory"}, nil
}

// memory implements [engine]: it is as large as the process may become.
func (*Memory) memory(context.Context, Scope) (used, most int64, err error) { return 0, 0, nil }

// seed takes units of a level as of a time ago, whatever its limit says.
func (m *Memory) seed(level Level, units int64, ago time.Duration) {
	m.store.Do(func(tx *memstore.Tx) {
		s := stateOf(tx, &level)
		s.load(tx.Now, &level)
		keep := longest(level.Windows)
		s.take(tx.Now-ago.Microseconds(), &level, taken{units: units, keep: keep, most: largest(level.Windows)})
		tx.Put(level.Key, s.value())
		tx.Expire(level.Key, 2*keep+time.Minute)
	})
}

// forget ends what the engine knows of a channel, but for the ids that it admitted.
func (m *Memory) forget(scope Scope, levels []string) {
	m.store.Do(func(tx *memstore.Tx) {
		for _, key := range levels {
			tx.Delete(key)
		}
		tx.Delete(scope.keys().Ledger())
		for i := range seriesHours {
			tx.Delete(scope.keys().Series(tx.Time.Add(-time.Duration(i) * time.Hour)))
			tx.Delete(scope.keys().Minutes(tx.Time.Add(-time.Duration(i) * time.Hour)))
		}
	})
}

// seenIDs remembers when each id was admitted.
type seenIDs struct {
	at    map[string]int64
	order []string // oldest first
}

func (s *seenIDs) has(id string, after int64) bool {
	at, ok := s.at[id]
	return ok && at > after
}

// when is the time of an id, 0 where it is not remembered.
func (s *seenIDs) when(id string) int64 { return s.at[id] }

func (s *seenIDs) add(id string, now, forget int64) {
	if s.at == nil {
		s.at = map[string]int64{}
	}
	for len(s.order) > 0 && s.at[s.order[0]] <= forget {
		delete(s.at, s.order[0])
		s.order = s.order[1:]
	}
	s.at[id] = now
	s.order = append(s.order, id)
}

// lookBack is how long the levels of a channel look back, by name, and since when.
type lookBack struct{ levels map[string]lengthened }

type lengthened struct{ longest, since int64 }

// Warming implements [Limiter].
func (m *Memory) Warming(_ context.Context, scope Scope, tiers []Tier) ([]time.Duration, error) {
	warming := make([]time.Duration, len(tiers))
	m.store.Do(func(tx *memstore.Tx) {
		known := memstore.Value[lookBack](tx, scope.keys().Windows())
		if known.levels == nil {
			known.levels = map[string]lengthened{}
		}
		for i, tier := range tiers {
			now := lengthened{longest: longest(tier.Windows).Microseconds()}
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
				warming[i] = micros(now.since + now.longest - tx.Now)
			}
			known.levels[tier.Name] = now
		}
	})
	return warming, nil
}
