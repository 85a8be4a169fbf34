package memory

import (
	"context"

	"slackrelay/store"
)

// Mute implements [Limiter].
func (m *Store) CountMuted(_ context.Context, scope store.Channel, n int64) error {
	m.data.Do(func(tx *Tx) {
		ledger := Value[Counts](tx, scope.Keys().Ledger())
		ledger.Add("received", n)
		ledger.Add("muted", n)
	})
	return nil
}
