package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Release implements [store.Queue].
func (r *Store) Release(ctx context.Context, channel store.Channel) error {
	return r.runFenced(ctx, "release", lua.Release, channel, []string{channel.Keys().Lease(), lua.DueIndex}, r.opts.Owner)
}
