package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// ReserveCall implements [store.Budget].
func (r *Store) ReserveCall(
	ctx context.Context, workspace, method string, perMinute int64,
) (wait time.Duration, reason string, err error) {
	return r.budget(ctx, workspace, method, perMinute, 0, "")
}

// budget runs lua/budget.lua, which reserves a call, or sets a pause (above 0, microseconds), or ends one (pauseEnds), or
// reads it (pauseRead).
func (r *Store) budget(
	ctx context.Context, workspace, method string, perMinute, pause int64, why string,
) (wait time.Duration, reason string, err error) {
	w := lua.WorkspaceOf(workspace)
	reply, err := lua.Budget.Run(ctx, r.scripter, []string{w.Budget(method), w.Pause()}, perMinute, pause, why).Slice()
	return decodeWait("budget of "+method, reply, err)
}

const (
	pauseEnds = -1
	pauseRead = -2
)

// decodeWait reads a reply of [wait in microseconds, reason]. what it is a reply to begins its errors.
func decodeWait(what string, reply []any, err error) (wait time.Duration, reason string, _ error) {
	if err != nil || len(reply) != 2 {
		return 0, "", fmt.Errorf("%s: reply of %d values: %w", what, len(reply), err)
	}
	us, _ := reply[0].(int64)
	reason, _ = reply[1].(string)
	return store.Microseconds(us), reason, nil
}
