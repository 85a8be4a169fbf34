package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Take implements [Budget].
func (r *Store) ReserveCall(ctx context.Context, workspace, method string, perMinute int64) (time.Duration, string, error) {
	return r.budget(ctx, workspace, method, perMinute, 0, "")
}

func (r *Store) budget(ctx context.Context, workspace, method string, perMinute, pause int64, why string) (time.Duration, string, error) {
	w := lua.WorkspaceOf(workspace)
	reply, err := lua.Budget.Run(ctx, r.scripter, []string{w.Budget(method), w.Pause()}, perMinute, pause, why).Slice()
	if err != nil || len(reply) != 2 {
		return 0, "", fmt.Errorf("budget of %s: reply of %d values: %w", method, len(reply), err)
	}
	wait, _ := reply[0].(int64)
	reason, _ := reply[1].(string)
	return store.Microseconds(wait), reason, nil
}

// Paused implements [Budget].
func (r *Store) CredentialPaused(ctx context.Context, workspace string) (time.Duration, string, error) {
	return r.budget(ctx, workspace, store.MethodPost, 1, -2, "")
}

// Pause implements [Budget].
func (r *Store) PauseCredential(ctx context.Context, workspace, reason string, wait time.Duration) error {
	us := wait.Microseconds()
	if us == 0 {
		us = -1
	}
	_, _, err := r.budget(ctx, workspace, store.MethodPost, 1, us, reason)
	return err
}
