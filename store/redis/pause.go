package redis

import (
	"context"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Pause implements [store.Queue].
func (r *Store) Pause(ctx context.Context, channel store.Channel, wait time.Duration, reason string) error {
	keys := []string{channel.Keys().Pause(), lua.DueIndex}
	return r.runFenced(ctx, "pause", lua.Pause, channel, keys, wait.Microseconds(), reason)
}
