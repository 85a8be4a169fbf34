package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// DueProblems implements [store.Problems].
func (r *Store) DueProblems(ctx context.Context, channel store.Channel, most int) (now int64, all []store.Problem, err error) {
	k := channel.Keys()
	keys := []string{k.Problems(), k.ProblemWakes(), lua.DueIndex}
	again, overdue := store.ProblemsLookAgain.Microseconds(), store.ProblemsOverdue.Microseconds()
	return r.readProblems(ctx, channel, lua.DueProblems, keys, most, again, overdue)
}
