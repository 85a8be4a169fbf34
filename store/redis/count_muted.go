package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// CountMuted implements [store.Counts].
func (r *Store) CountMuted(ctx context.Context, channel store.Channel, n int64) error {
	if _, err := r.run(ctx, lua.CountMuted, []string{channel.Keys().Ledger()}, n); err != nil {
		return fmt.Errorf("count muted events in channel %s: %w", channel.Name, err)
	}
	return nil
}
