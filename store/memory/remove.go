package memory

import (
	"context"
	"slices"

	"slackrelay/store"
)

// DeleteDead implements [store.DeadLetters]. It is the twin of lua/remove.lua.
func (s *Store) DeleteDead(_ context.Context, channel store.Channel, ids ...string) (deleted int, err error) {
	s.do(channel, func(tx channelTx) {
		deleted = tx.dead().remove(func(l store.DeadLetter) bool { return slices.Contains(ids, l.ID) })
	})
	return deleted, nil
}
