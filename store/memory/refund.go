package memory

import (
	"context"
	"math"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Refund implements [store.Admissions]. It is the twin of lua/refund.lua.
func (s *Store) Refund(_ context.Context, channel store.Channel, request store.Request) error {
	if err := store.Check(store.ModeAdmit, []store.Request{request}); err != nil {
		return err
	}
	s.data.Do(func(tx *Tx) {
		keys := channel.Keys()
		refunds := lookOrCreate[idTimes](tx, keys.Refunds())
		if refunds.has(request.ID, math.MinInt64) {
			return
		}
		admittedAt := lookOrCreate[idTimes](tx, keys.Seen()).when(request.ID)
		isRefunded := false
		for i := range request.Levels {
			if refundLevel(tx, &request.Levels[i], admittedAt, &request) {
				isRefunded = true
			}
		}
		if isRefunded {
			refunds.add(request.ID, tx.now, tx.now-s.dedupe())
		}
	})
	return nil
}

// refundLevel gives back the units of a request at one level, and reports whether there were any.
func refundLevel(tx *Tx, level *ratelimit.Level, admittedAt int64, r *store.Request) bool {
	state := stateOf(tx, level)
	if !state.Refund(tx.now, level, admittedAt, ratelimit.Charge{ID: r.ID, Units: r.Units()}) {
		return false
	}
	tx.replace(level.Key, state.Value())
	return true
}
