package redis

import (
	"context"

	"slackrelay/store"
)

// Peek implements [store.Admissions].
func (r *Store) Peek(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return r.decide(ctx, store.ModePeek, decideCall{channel: channel, requests: requests})
}
