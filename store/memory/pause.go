package memory

import (
	"context"
	"time"

	"slackrelay/store"
)

// Pause implements [store.Queue]. It is the twin of lua/pause.lua.
func (s *Store) Pause(_ context.Context, channel store.Channel, wait time.Duration, reason string) error {
	s.do(channel, func(tx channelTx) {
		paused := tx.pause()
		if wait == 0 {
			*paused = pause{}
			tx.lookNow(store.WorkSend)
			return
		}
		until := tx.now + wait.Microseconds()
		*paused = pause{until: until, reason: reason, editsUntil: until}
	})
	return nil
}
