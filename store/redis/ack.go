package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Ack implements [store.Queue].
func (r *Store) Ack(ctx context.Context, channel store.Channel, entry store.Entry, receipt store.Receipt) error {
	return r.finish(ctx, channel, entry, finish{
		script:  lua.Ack,
		verb:    "ack",
		options: finishOptions{Channel: receipt.Channel, TS: receipt.TS},
	})
}
