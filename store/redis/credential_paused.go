package redis

import (
	"context"
	"time"

	"slackrelay/store"
)

// CredentialPaused implements [store.Budget].
func (r *Store) CredentialPaused(ctx context.Context, workspace string) (wait time.Duration, reason string, err error) {
	return r.budget(ctx, workspace, store.MethodPost, 1, pauseRead, "")
}
