package memory

import (
	"context"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// credential is when a credential may be used again, and why not before.
type credential struct {
	until  int64
	reason string
}

// Take implements [Budget].
func (m *Store) ReserveCall(_ context.Context, workspace, method string, perMinute int64) (wait time.Duration, reason string, err error) {
	m.data.Do(func(tx *Tx) {
		k := lua.WorkspaceOf(workspace)
		if c := Look[credential](tx, k.Pause()); c != nil && c.until > tx.Now {
			wait, reason = store.Microseconds(c.until-tx.Now), c.reason
			return
		}
		perMinute = max(1, perMinute/m.opts.paceDivisor())
		bucket, each := Value[pacing](tx, k.Budget(method)), (60_000_000+perMinute-1)/perMinute
		emptyAt := max(tx.Now, bucket.emptyAt)
		if allowedAt := emptyAt - (max(1, perMinute/2)-1)*each; allowedAt > tx.Now {
			wait = store.Microseconds(allowedAt - tx.Now)
			return
		}
		bucket.emptyAt = emptyAt + each
	})
	return m.data.Wall(wait), reason, nil
}

// Pause implements [Budget].
func (m *Store) PauseCredential(_ context.Context, workspace, reason string, wait time.Duration) error {
	m.data.Do(func(tx *Tx) {
		c := Value[credential](tx, lua.WorkspaceOf(workspace).Pause())
		c.until, c.reason = tx.Now+wait.Microseconds(), reason
	})
	return nil
}

// Paused implements [Budget].
func (m *Store) CredentialPaused(_ context.Context, workspace string) (wait time.Duration, reason string, err error) {
	m.data.Do(func(tx *Tx) {
		if c := Look[credential](tx, lua.WorkspaceOf(workspace).Pause()); c != nil && c.until > tx.Now {
			wait, reason = store.Microseconds(c.until-tx.Now), c.reason
		}
	})
	return m.data.Wall(wait), reason, nil
}
