package redis

import (
	"context"

	"slackrelay/store"
)

// Force implements [store.Admissions].
func (r *Store) Force(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return r.decide(ctx, store.ModeForce, decideCall{channel: channel, requests: requests})
}
