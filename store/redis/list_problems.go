package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// ListProblems implements [store.Problems].
func (r *Store) ListProblems(
	ctx context.Context, channel store.Channel, prefix, after string, most int,
) (now int64, all []store.Problem, err error) {
	k := channel.Keys()
	return r.readProblems(ctx, channel, lua.ListProblems, []string{k.Problems(), k.ProblemNames()}, prefix, after, most)
}
