package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// ReserveCalls implements [store.Budget].
func (r *Store) ReserveCalls(ctx context.Context, workspace string, wanted store.Calls) (store.Reservation, error) {
	if err := wanted.Check(); err != nil {
		return store.Reservation{}, err
	}
	w := lua.WorkspaceOf(workspace)
	keys := []string{w.Budget(wanted.Method), w.Pause()}
	reply, err := r.run(ctx, lua.BudgetReserve, keys, wanted.PerMinute, max(1, wanted.N))
	wait, reason, err := decodeWait("budget of "+wanted.Method, reply, err)
	if err != nil {
		return store.Reservation{}, err
	}
	reserved, _ := reply[len(reply)-1].(int64)
	return store.Reservation{N: reserved, Wait: wait, Reason: reason}, nil
}

// decodeWait reads a reply that begins with [wait in microseconds, reason]. what it is a reply to begins its errors.
func decodeWait(what string, reply []any, err error) (wait time.Duration, reason string, _ error) {
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", what, err)
	}
	if len(reply) < 2 {
		return 0, "", fmt.Errorf("%s: %w: reply of %d values", what, ratelimit.ErrUnavailable, len(reply))
	}
	us, _ := reply[0].(int64)
	reason, _ = reply[1].(string)
	return store.Microseconds(us), reason, nil
}
