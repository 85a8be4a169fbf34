package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// Drops implements [Limiter].
func (r *Store) Drops(ctx context.Context, scope store.Channel, before string, most int) ([]store.Drop, error) {
	page, err := lua.ReadPage(ctx, r.scripter, scope.Keys().Drops(), before, most)
	if err != nil {
		return nil, fmt.Errorf("drops of channel %s: %w", scope.Name, scriptError(err))
	}
	drops := make([]store.Drop, len(page))
	for i, row := range page {
		drops[i] = store.ParseDrop(row.Fields)
		drops[i].ID, drops[i].At = row.ID, row.At
	}
	return drops, nil
}
