package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Digest implements [store.Queue].
func (r *Store) Digest(ctx context.Context, channel store.Channel, terms store.DigestTerms) error {
	k := channel.Keys()
	keys := []string{k.Digest(), k.LastAdmitted(), k.Extras(), k.Entries(), k.Posted(), k.Aged(), lua.DueIndex}
	return r.runFenced(ctx, "digest", lua.PostDigest, channel, keys,
		channel.Name, terms.Interval.Microseconds(), terms.EditEvery.Microseconds(), terms.Minimum)
}
