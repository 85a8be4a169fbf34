package redis

import (
	"context"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Hold implements [Outbox].
func (r *Store) Pause(ctx context.Context, channel store.Channel, wait time.Duration, reason string) error {
	return r.fenced(ctx, "hold", lua.Pause, channel, []string{channel.Keys().Pause()}, wait.Microseconds(), reason)
}
