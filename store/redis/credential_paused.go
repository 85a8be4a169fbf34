package redis

import (
	"context"
	"time"

	"slackrelay/lua"
)

// CredentialPaused implements [store.Budget].
func (r *Store) CredentialPaused(ctx context.Context, workspace string) (wait time.Duration, reason string, err error) {
	keys := []string{lua.WorkspaceOf(workspace).Pause()}
	reply, err := r.run(ctx, lua.CredentialPaused, keys)
	return decodeWait("pause of a credential", reply, err)
}
