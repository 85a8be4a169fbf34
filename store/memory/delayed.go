package memory

import (
	"context"

	"slackrelay/store"
)

// Delayed implements [Outbox].
func (m *Store) Delayed(_ context.Context, channel store.Channel) ([]store.DelayedMessage, error) {
	var all []store.DelayedMessage
	m.data.Do(func(tx *Tx) {
		seen, bytes := map[string]bool{}, 0
		for _, entry := range LookOrNew[Queue](tx, channel.Keys().Outbox()).Delayed {
			if !seen[entry.Category] && len(all) < store.MaxDelayed && bytes < store.MaxDelayedBytes {
				seen[entry.Category], bytes = true, bytes+len(entry.Payload)
				all = append(all, store.DelayedMessage{Number: entry.Number, Payload: entry.Payload})
			}
		}
	})
	return all, nil
}
