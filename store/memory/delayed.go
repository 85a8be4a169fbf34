package memory

import (
	"context"

	"slackrelay/store"
)

// maxReplyBytes is the size of payloads after which Delayed lists no more.
const maxReplyBytes = 256 << 10

// Delayed implements [store.Queue]. It is the twin of lua/delayed.lua.
func (s *Store) Delayed(_ context.Context, channel store.Channel) (all []store.DelayedMessage, err error) {
	s.do(channel, func(tx channelTx) {
		listed := map[string]bool{} // by category
		bytes := 0
		for _, e := range tx.outbox().delayed {
			if listed[e.category] || len(all) >= store.MaxDelayed || bytes >= maxReplyBytes {
				continue
			}
			listed[e.category] = true
			bytes += len(e.payload)
			all = append(all, store.DelayedMessage{Number: e.number, Category: e.category, Payload: e.payload})
		}
	})
	return all, nil
}
