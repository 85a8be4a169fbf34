package redis

import (
	"context"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Renew implements [store.Queue].
func (r *Store) Renew(ctx context.Context, channel store.Channel) (until time.Time, err error) {
	before := time.Now()
	keys := []string{channel.Keys().Lease()}
	err = r.runFenced(ctx, "renew", lua.Renew, channel, keys, r.opts.Owner, r.opts.Lease.Microseconds())
	return before.Add(r.opts.Lease), err
}
