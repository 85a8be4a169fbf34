package memory

import (
	"context"

	"slackrelay/store"
)

// Append implements [store.Queue]. It is the twin of lua/append.lua.
func (s *Store) Append(_ context.Context, channel store.Channel, id, kind string, payload []byte) error {
	s.do(channel, func(tx channelTx) {
		ids, expired := kept[idTimes](tx.Tx, tx.keys.NoticeIDs()), tx.now-store.AppendDedupe.Microseconds()
		if !ids.has(id, expired) {
			ids.add(id, tx.now)
			ids.prune(expired)
			tx.outbox().addExtra(tx.now, tx.now, kind, payload)
			tx.lookNow(store.WorkSend)
		}
	})
	return nil
}
