package memory

import (
	"context"

	"slackrelay/ratelimit"
)

// Reset implements [Limiter].
func (m *Store) Reset(_ context.Context, levels ...ratelimit.Level) error {
	m.data.Do(func(tx *Tx) {
		for _, level := range levels {
			tx.Delete(level.Key)
		}
	})
	return nil
}
