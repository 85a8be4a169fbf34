package memory

import (
	"context"
	"math"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Refund implements [Limiter]. It follows lua/refund.lua.
func (m *Store) Refund(_ context.Context, scope store.Channel, request store.Request) error {
	if err := store.Check([]store.Request{request}); err != nil {
		return err
	}
	m.data.Do(func(tx *Tx) {
		refunds := Value[seenIDs](tx, scope.Keys().Refunds())
		if refunds.has(request.ID, math.MinInt64) {
			return
		}
		at := Value[seenIDs](tx, scope.Keys().Seen()).when(request.ID)
		given := false
		for i := range request.Levels {
			level := &request.Levels[i]
			s := stateOf(tx, level)
			if s.Refund(tx.Now, level, at, ratelimit.Charge{ID: request.ID, Units: request.Units()}) {
				tx.Replace(level.Key, s.Value())
				given = true
			}
		}
		if given {
			refunds.add(request.ID, tx.Now, tx.Now-m.dedupe())
		}
	})
	return nil
}
