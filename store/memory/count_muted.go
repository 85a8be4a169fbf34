package memory

import (
	"context"

	"slackrelay/store"
)

// CountMuted implements [store.Counts]. It is the twin of lua/count_muted.lua.
func (s *Store) CountMuted(_ context.Context, channel store.Channel, n int64) error {
	s.do(channel, func(tx channelTx) {
		ledger := tx.ledger()
		ledger["received"] += n
		ledger["muted"] += n
	})
	return nil
}
