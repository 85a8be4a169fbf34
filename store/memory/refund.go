package memory

import (
	"context"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Refund implements [store.Admissions]. It is the twin of lua/refund.lua.
func (s *Store) Refund(_ context.Context, channel store.Channel, request store.Request) error {
	if err := store.Check(store.ModeAdmit, []store.Request{request}); err != nil {
		return err
	}
	s.do(channel, func(tx channelTx) {
		refunds := kept[idTimes](tx.Tx, tx.keys.Refunds())
		forgotten := tx.now - s.dedupe()
		if refunds.has(request.ID, forgotten) {
			return
		}
		admittedAt := tx.admitted().at[request.ID]
		if admittedAt <= forgotten {
			admittedAt = 0
		}
		isRefunded := false
		for i := range request.Levels {
			if tx.refund(&request.Levels[i], admittedAt, &request) {
				isRefunded = true
			}
		}
		if isRefunded {
			tx.promoteNow()
			refunds.add(request.ID, tx.now)
			refunds.prune(forgotten)
		}
	})
	return nil
}

// refund gives back the units of a request at one level, and reports whether there were any.
func (tx *Tx) refund(level *ratelimit.Level, admittedAt int64, r *store.Request) bool {
	state := tx.state(level)
	if !state.Refund(tx.now, level, admittedAt, ratelimit.Charge{ID: r.ID, Units: r.Units()}) {
		return false
	}
	tx.replace(level.Key, state.Value())
	return true
}
