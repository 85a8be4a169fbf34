package redis

import (
	"context"
	"time"

	"slackrelay/store"
)

// PauseCredential implements [store.Budget].
func (r *Store) PauseCredential(ctx context.Context, workspace, reason string, wait time.Duration) error {
	us := wait.Microseconds()
	if us == 0 {
		us = pauseEnds
	}
	_, _, err := r.budget(ctx, workspace, store.MethodPost, 1, us, reason)
	return err
}
