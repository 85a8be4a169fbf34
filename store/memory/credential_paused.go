package memory

import (
	"context"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// CredentialPaused implements [store.Budget]. It is the twin of lua/credential_paused.lua.
func (s *Store) CredentialPaused(_ context.Context, workspace string) (wait time.Duration, reason string, err error) {
	s.data.Do(func(tx *Tx) { wait, reason = tx.pausedFor(lua.WorkspaceOf(workspace)) })
	return s.data.wall(wait), reason, nil
}

// pausedFor returns for how long a credential is paused, and why; 0 = it is not.
func (tx *Tx) pausedFor(keys lua.Workspace) (wait time.Duration, reason string) {
	paused := kept[pause](tx, keys.Pause())
	if paused.until <= tx.now {
		return 0, ""
	}
	return store.Microseconds(paused.until - tx.now), paused.reason
}
