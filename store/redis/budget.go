package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
)

// Take implements [Budget].
func (r *Store) ReserveCall(ctx context.Context, workspace, method string, perMinute int64) (time.Duration, string, error) {
	w := lua.WorkspaceOf(workspace)
	reply, err := lua.BudgetReserve.Run(ctx, r.scripter, []string{w.Budget(method), w.Pause()}, perMinute).Slice()
	return credentialWait("budget of "+method, reply, err)
}

// Paused implements [Budget].
func (r *Store) CredentialPaused(ctx context.Context, workspace string) (time.Duration, string, error) {
	reply, err := lua.CredentialPaused.Run(ctx, r.scripter, []string{lua.WorkspaceOf(workspace).Pause()}).Slice()
	return credentialWait("pause of a credential", reply, err)
}

// Pause implements [Budget].
func (r *Store) PauseCredential(ctx context.Context, workspace, reason string, wait time.Duration) error {
	err := lua.CredentialPause.Run(ctx, r.scripter, []string{lua.WorkspaceOf(workspace).Pause()}, wait.Microseconds(), reason).Err()
	if err != nil {
		return fmt.Errorf("pause a credential: %w", err)
	}
	return nil
}
