package memory

import (
	"context"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// ReserveCalls implements [store.Budget]. It is the twin of lua/budget_reserve.lua.
func (s *Store) ReserveCalls(_ context.Context, workspace string, wanted store.Calls) (store.Reservation, error) {
	if err := wanted.Check(); err != nil {
		return store.Reservation{}, err
	}
	var reserved store.Reservation
	s.data.Do(func(tx *Tx) {
		keys := lua.WorkspaceOf(workspace)
		if reserved.Wait, reserved.Reason = tx.pausedFor(keys); reserved.Wait > 0 {
			return
		}
		perMinute := max(1, wanted.PerMinute/s.opts.paceDivisor())
		reserved.N, reserved.Wait = kept[bucket](tx, keys.Budget(wanted.Method)).reserve(tx.now, perMinute, max(1, wanted.N))
	})
	reserved.Wait = s.data.wall(reserved.Wait)
	return reserved, nil
}

// reserve takes up to n calls of so many a minute, half of them at once at most. It returns how many it took, and if that is
// less than n, how long to wait for the next.
func (b *bucket) reserve(now, perMinute, n int64) (reserved int64, wait time.Duration) {
	each := (60_000_000 + perMinute - 1) / perMinute // microseconds
	burst := max(1, perMinute/2)
	emptyAt := max(now, b.emptyAt)
	reserved = max(0, min(n, (now+burst*each-emptyAt)/each))
	if reserved > 0 {
		emptyAt += reserved * each
		b.emptyAt = emptyAt
	}
	if reserved < n {
		wait = store.Microseconds(emptyAt - (burst-1)*each - now)
	}
	return reserved, wait
}
