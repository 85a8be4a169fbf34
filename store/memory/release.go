package memory

import (
	"context"

	"slackrelay/store"
)

// Release implements [store.Queue]. It is the twin of lua/release.lua.
func (s *Store) Release(_ context.Context, channel store.Channel) error {
	s.do(channel, func(tx channelTx) {
		if held := tx.lease(); held.owner == s.opts.Owner {
			held.release(s.opts.Owner)
			tx.lookNow(store.WorkSend)
		}
	})
	return nil
}
