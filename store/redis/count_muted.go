package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// Mute implements [Limiter].
func (r *Store) CountMuted(ctx context.Context, scope store.Channel, n int64) error {
	if _, err := run(ctx, r.scripter, lua.CountMuted, []string{scope.Keys().Ledger()}, []any{n}); err != nil {
		return fmt.Errorf("count what is muted in channel %s: %w", scope.Name, err)
	}
	return nil
}
