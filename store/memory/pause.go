package memory

import (
	"context"
	"time"

	"slackrelay/store"
)

// Pause implements [store.Queue]. It is the twin of lua/pause.lua.
func (s *Store) Pause(_ context.Context, channel store.Channel, wait time.Duration, reason string) error {
	s.data.Do(func(tx *Tx) {
		paused := lookOrCreate[pause](tx, channel.Keys().Pause())
		*paused = pause{}
		if wait > 0 {
			until := tx.now + wait.Microseconds()
			*paused = pause{until: until, reason: reason, editsUntil: until}
		}
	})
	return nil
}
