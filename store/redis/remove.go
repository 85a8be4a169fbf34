package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// DeleteDead implements [store.DeadLetters].
func (r *Store) DeleteDead(ctx context.Context, channel store.Channel, ids ...string) (int, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	keys := []string{channel.Keys().Dead()}
	n, err := lua.Remove.Run(ctx, r.scripter, keys, args...).Int()
	if err != nil {
		return 0, fmt.Errorf("delete dead letters of channel %s: %w", channel.Name, scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
	}
	return n, nil
}
