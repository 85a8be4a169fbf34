package memory

import (
	"context"
	"time"

	"slackrelay/store"
)

// Hold implements [Outbox].
func (m *Store) Pause(_ context.Context, channel store.Channel, wait time.Duration, reason string) error {
	m.data.Do(func(tx *Tx) {
		pause := Value[Pause](tx, channel.Keys().Pause())
		*pause = Pause{}
		if wait > 0 {
			until := tx.Now + wait.Microseconds()
			*pause = Pause{Until: until, Reason: reason, Edits: until}
		}
	})
	return nil
}
