package memory

import (
	"context"

	"slackrelay/store"
)

// Expire implements [store.Queue]. It is the twin of lua/expire.lua.
func (s *Store) Expire(_ context.Context, channel store.Channel, claimed store.Entry, digestCounts map[string]int64) error {
	return s.settle(channel, claimed, store.Expired, func(tx channelTx, expired *entry) {
		s.keepResult(tx, expired, store.OutageResult{Result: store.Expired})
		tx.posted().forget(claimed.Number)
		tx.noteForDigest(digestCounts)
	})
}
