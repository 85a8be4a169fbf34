package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Reset implements [store.Admissions].
func (r *Store) Reset(ctx context.Context, channel store.Channel, levels ...ratelimit.Level) error {
	for _, level := range levels {
		keys := []string{level.Key, channel.Keys().Delayed(), lua.DueIndex}
		if err := lua.Reset.Run(ctx, r.scripter, keys).Err(); err != nil {
			return fmt.Errorf("reset level %s: %w", level.Name, scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
		}
	}
	return nil
}
