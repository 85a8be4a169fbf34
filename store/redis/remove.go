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
	n, err := lua.Remove.Run(ctx, r.scripter, []string{channel.Keys().Dead()}, args...).Int()
	if err != nil {
		return 0, fmt.Errorf("delete dead letters of channel %s: %w", channel.Name, err)
	}
	return n, nil
}
