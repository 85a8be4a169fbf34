package memory

import (
	"context"
	"time"

	"slackrelay/lua"
)

// PauseCredential implements [store.Budget]. It is the twin of lua/credential_pause.lua.
func (s *Store) PauseCredential(_ context.Context, workspace, reason string, wait time.Duration) error {
	s.data.Do(func(tx *Tx) {
		*kept[pause](tx, lua.WorkspaceOf(workspace).Pause()) = pause{until: tx.now + wait.Microseconds(), reason: reason}
	})
	return nil
}
