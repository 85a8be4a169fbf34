package memory

import (
	"context"

	"slackrelay/store"
)

// Append implements [store.Queue]. It is the twin of lua/append.lua.
func (s *Store) Append(_ context.Context, channel store.Channel, id, kind string, payload []byte) error {
	s.data.Do(func(tx *Tx) {
		keys := channel.Keys()
		if lookOrCreate[noticeIDs](tx, keys.NoticeIDs()).add(id, tx.now, tx.now-store.AppendDedupe.Microseconds()) {
			lookOrCreate[queue](tx, keys.Outbox()).addExtra(tx.now, tx.now, kind, payload)
		}
	})
	return nil
}
