package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/store"
)

// Renew implements [Outbox].
func (r *Store) Renew(ctx context.Context, channel store.Channel) (time.Time, error) {
	before := time.Now()
	err := r.fenced(ctx, "renew", lua.Renew, channel, []string{channel.Keys().Lease()}, r.opts.Owner, r.opts.Lease.Microseconds())
	return before.Add(r.opts.Lease), err
}

// Release implements [Outbox].
func (r *Store) Release(ctx context.Context, channel store.Channel) error {
	return r.fenced(ctx, "release", lua.Release, channel, []string{channel.Keys().Lease()}, r.opts.Owner)
}

// fenced runs a script that answers 1 (done), 0 (nothing to do) or -1 (the lease is another's).
func (r *Store) fenced(ctx context.Context, verb string, script *redis.Script, channel store.Channel, keys []string, args ...any) error {
	code, err := script.Run(ctx, r.scripter, keys, args...).Int()
	if err != nil {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, lua.WrongType(ctx, r.scripter, keys, err))
	}
	if code < 0 {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, store.ErrLeaseLost)
	}
	return nil
}
