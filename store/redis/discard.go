package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Discard implements [store.Queue].
func (r *Store) Discard(ctx context.Context, channel store.Channel, entry store.Entry) error {
	return r.finish(ctx, channel, entry, finish{script: lua.Discard, verb: "discard"})
}
