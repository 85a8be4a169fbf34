package redis

import (
	"context"

	"slackrelay/store"
)

// Promote implements [store.Admissions].
func (r *Store) Promote(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return r.decide(ctx, store.ModePromote, decideCall{channel: channel, requests: requests})
}
