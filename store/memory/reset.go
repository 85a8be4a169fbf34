package memory

import (
	"context"

	"slackrelay/ratelimit"
)

// Reset implements [Limiter].
func (m *Limiter) Reset(_ context.Context, levels ...ratelimit.Level) error {
	m.store.Do(func(tx *Tx) {
		for _, level := range levels {
			tx.Delete(level.Key)
		}
	})
	return nil
}
