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
	if err != nil {
		return store.Reservation{}, fmt.Errorf("budget of %s: %w", wanted.Method, err)
	}
	if len(reply) != 3 {
		return store.Reservation{}, fmt.Errorf("budget of %s: %w: reply of %d values", wanted.Method, ratelimit.ErrUnavailable, len(reply))
	}
	wait, reason, err := decodeWait("budget of "+wanted.Method, reply[:2], nil)
	reserved, _ := reply[2].(int64)
	return store.Reservation{N: reserved, Wait: wait, Reason: reason}, err
}

// decodeWait reads a reply of [wait in microseconds, reason]. what it is a reply to begins its errors.
func decodeWait(what string, reply []any, err error) (wait time.Duration, reason string, _ error) {
	if err != nil || len(reply) != 2 {
		return 0, "", fmt.Errorf("%s: reply of %d values: %w", what, len(reply), err)
	}
	us, _ := reply[0].(int64)
	reason, _ = reply[1].(string)
	return store.Microseconds(us), reason, nil
}
