package memory

import (
	"context"

	"slackrelay/ratelimit"
)

// Reset implements [store.Admissions]. It is the twin of lua/reset.lua.
func (s *Store) Reset(_ context.Context, levels ...ratelimit.Level) error {
	s.data.Do(func(tx *Tx) {
		for _, level := range levels {
			tx.remove(level.Key)
		}
	})
	return nil
}
