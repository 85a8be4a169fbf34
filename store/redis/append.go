package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Append implements [store.Queue].
func (r *Store) Append(ctx context.Context, channel store.Channel, id, kind string, payload []byte) error {
	k := channel.Keys()
	keys := []string{k.Extras(), k.Entries(), k.NoticeIDs(), lua.DueIndex}
	return r.runFenced(ctx, "append", lua.Append, channel, keys, id, kind, payload, store.AppendDedupe.Microseconds())
}
