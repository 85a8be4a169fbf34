package memory

import (
	"context"
	"slices"

	"slackrelay/store"
)

// Record implements [Outbox].
func (m *Store) PostedMessage(_ context.Context, channel store.Channel, number int64) (*store.PostedMessage, error) {
	var found *store.PostedMessage
	m.data.Do(func(tx *Tx) {
		if record := Look[Posted](tx, channel.Keys().Posted()).Record(number); record != nil {
			kept := *record
			kept.Events = slices.Clone(record.Events)
			found = &kept
		}
	})
	return found, nil
}
