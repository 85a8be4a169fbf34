package memory

import (
	"context"

	"slackrelay/store"
)

// CountMuted implements [store.Counts]. It is the twin of lua/count_muted.lua.
func (s *Store) CountMuted(_ context.Context, channel store.Channel, n int64) error {
	s.data.Do(func(tx *Tx) {
		ledger := lookOrCreate[counts](tx, channel.Keys().Ledger())
		ledger.add("received", n)
		ledger.add("muted", n)
	})
	return nil
}
