package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Expire implements [store.Queue].
func (r *Store) Expire(ctx context.Context, channel store.Channel, entry store.Entry, digestCounts map[string]int64) error {
	return r.finish(ctx, channel, entry, finish{
		script:  lua.Expire,
		verb:    "expire",
		options: finishOptions{DigestCounts: digestCounts},
	})
}
