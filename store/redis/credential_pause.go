package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
)

// PauseCredential implements [store.Budget].
func (r *Store) PauseCredential(ctx context.Context, workspace, reason string, wait time.Duration) error {
	keys := []string{lua.WorkspaceOf(workspace).Pause()}
	if err := lua.CredentialPause.Run(ctx, r.scripter, keys, wait.Microseconds(), reason).Err(); err != nil {
		return fmt.Errorf("pause a credential: %w", scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
	}
	return nil
}
