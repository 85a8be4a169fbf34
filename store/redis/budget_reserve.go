package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// ReserveCall implements [store.Budget].
func (r *Store) ReserveCall(
	ctx context.Context, workspace, method string, perMinute int64,
) (wait time.Duration, reason string, err error) {
	if err := store.CheckBudget(method, perMinute); err != nil {
		return 0, "", err
	}
	w := lua.WorkspaceOf(workspace)
	reply, err := r.run(ctx, lua.BudgetReserve, []string{w.Budget(method), w.Pause()}, perMinute)
	return decodeWait("budget of "+method, reply, err)
}

// decodeWait reads a reply of [wait in microseconds, reason]. what it is a reply to begins its errors.
func decodeWait(what string, reply []any, err error) (wait time.Duration, reason string, _ error) {
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", what, err)
	}
	if len(reply) != 2 {
		return 0, "", fmt.Errorf("%s: %w: reply of %d values", what, ratelimit.ErrUnavailable, len(reply))
	}
	us, _ := reply[0].(int64)
	reason, _ = reply[1].(string)
	return store.Microseconds(us), reason, nil
}
