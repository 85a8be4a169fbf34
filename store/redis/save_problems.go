package redis

import (
	"context"
	"encoding/json"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// SaveProblems implements [store.Problems].
func (r *Store) SaveProblems(
	ctx context.Context, channel store.Channel, changes []store.ProblemChange, counts store.ProblemCounts,
) (saved bool, err error) {
	if err := store.CheckProblemChanges(changes); err != nil {
		return false, fmt.Errorf("save documents of channel %s: %w", channel.Name, err)
	}
	k := channel.Keys()
	keys := []string{k.Problems(), k.ProblemNames(), k.ProblemWakes(), k.ProblemEnds(), k.Ledger(), lua.DueIndex}
	totals, err := json.Marshal(counts.Totals())
	if err != nil {
		return false, fmt.Errorf("save documents of channel %s: %w", channel.Name, err)
	}
	args := []any{r.opts.Problems, store.MaxProblemsBytes, store.ProblemsOverdue.Microseconds(), totals}
	for _, c := range changes {
		args = append(args, c.Name, c.Version, c.Data, c.Wake, c.Keep.Microseconds())
	}
	code, err := lua.SaveProblems.Run(ctx, r.scripter, keys, args...).Int()
	if err != nil {
		err = scriptError(lua.WrongType(ctx, r.scripter, keys, err))
		return false, fmt.Errorf("save documents of channel %s: %w", channel.Name, err)
	}
	if code < 0 {
		return false, fmt.Errorf("save documents of channel %s: %w", channel.Name, store.ErrProblemsFull)
	}
	return code == 1, nil
}
