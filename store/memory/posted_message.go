package memory

import (
	"context"

	"slackrelay/store"
)

// PostedMessage implements [store.Queue]. It is the twin of lua/posted_message.lua.
func (s *Store) PostedMessage(_ context.Context, channel store.Channel, number int64) (found *store.PostedMessage, err error) {
	s.do(channel, func(tx channelTx) {
		if message := tx.posted().messages[number]; message != nil {
			found = message.clone()
		}
	})
	return found, nil
}
