package memory

import (
	"context"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Reset implements [store.Admissions]. It is the twin of lua/reset.lua.
func (s *Store) Reset(_ context.Context, channel store.Channel, levels ...ratelimit.Level) error {
	s.do(channel, func(tx channelTx) {
		for _, level := range levels {
			tx.promoteNow()
			tx.remove(level.Key)
		}
	})
	return nil
}
