package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Digest implements [Outbox].
func (r *Store) Digest(ctx context.Context, channel store.Channel, t store.DigestTerms) error {
	k := channel.Keys()
	keys := []string{k.Digest(), k.Told(), k.Extras(), k.Entries(), k.Posted(), k.Aged()}
	return r.fenced(ctx, "digest", lua.Digester, channel, keys, channel.Name, t.Interval.Microseconds(), t.EditEvery.Microseconds(), t.Minimum)
}
