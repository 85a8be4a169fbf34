package memory

import (
	"context"
	"maps"

	"slackrelay/store"
)

// noted are the ids of what was put in.
type noted struct{ at map[string]int64 }

// Put implements [Outbox].
func (m *Store) Append(_ context.Context, channel store.Channel, id, kind string, payload []byte) error {
	m.data.Do(func(tx *Tx) {
		known, forget := Value[noted](tx, channel.Keys().Noted()), tx.Now-store.AppendDedupe.Microseconds()
		maps.DeleteFunc(known.at, func(_ string, at int64) bool { return at <= forget })
		if _, ok := known.at[id]; ok {
			return
		}
		if known.at == nil {
			known.at = map[string]int64{}
		}
		known.at[id] = tx.Now
		Value[Queue](tx, channel.Keys().Outbox()).Put(tx.Now, tx.Now, kind, payload)
	})
	return nil
}
