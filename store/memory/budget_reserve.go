package memory

import (
	"context"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// ReserveCall implements [store.Budget]. It is the twin of lua/budget_reserve.lua.
func (s *Store) ReserveCall(_ context.Context, workspace, method string, perMinute int64) (wait time.Duration, reason string, err error) {
	if err := store.CheckBudget(method, perMinute); err != nil {
		return 0, "", err
	}
	s.data.Do(func(tx *Tx) {
		keys := lua.WorkspaceOf(workspace)
		if wait, reason = tx.pausedFor(keys); wait > 0 {
			return
		}
		perMinute = max(1, perMinute/s.opts.paceDivisor())
		wait = kept[bucket](tx, keys.Budget(method)).reserve(tx.now, perMinute)
	})
	return s.data.wall(wait), reason, nil
}

// reserve takes one call of so many a minute, half of them at once at most. Where there is none left, it returns how long
// to wait.
func (b *bucket) reserve(now, perMinute int64) (wait time.Duration) {
	each := (60_000_000 + perMinute - 1) / perMinute // microseconds
	emptyAt := max(now, b.emptyAt)
	if allowedAt := emptyAt - (max(1, perMinute/2)-1)*each; allowedAt > now {
		return store.Microseconds(allowedAt - now)
	}
	b.emptyAt = emptyAt + each
	return 0
}
