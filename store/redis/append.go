package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Put implements [Outbox].
func (r *Store) Append(ctx context.Context, channel store.Channel, id, kind string, payload []byte) error {
	k := channel.Keys()
	keys := []string{k.Extras(), k.Entries(), k.Noted()}
	return r.fenced(ctx, "put", lua.Append, channel, keys, id, kind, payload, store.AppendDedupe.Microseconds())
}

// credentialWait reads a reply of [wait in microseconds, reason].
func credentialWait(what string, reply []any, err error) (time.Duration, string, error) {
	if err != nil || len(reply) != 2 {
		return 0, "", fmt.Errorf("%s: reply of %d values: %w", what, len(reply), err)
	}
	wait, _ := reply[0].(int64)
	reason, _ := reply[1].(string)
	return store.Microseconds(wait), reason, nil
}
