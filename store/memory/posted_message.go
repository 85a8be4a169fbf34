package memory

import (
	"context"
	"slices"

	"slackrelay/store"
)

// PostedMessage implements [store.Queue]. It is the twin of lua/posted_message.lua.
func (s *Store) PostedMessage(_ context.Context, channel store.Channel, number int64) (*store.PostedMessage, error) {
	var found *store.PostedMessage
	s.data.Do(func(tx *Tx) {
		if message := Look[posted](tx, channel.Keys().Posted()).message(number); message != nil {
			clone := *message
			clone.Events = slices.Clone(message.Events)
			found = &clone
		}
	})
	return found, nil
}
