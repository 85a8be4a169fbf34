package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// memory implements [engine].
func (r *Store) Memory(ctx context.Context, scope store.Channel) (used, most int64, err error) {
	reply, err := run(ctx, r.scripter, lua.Memory, []string{scope.Keys().Ledger()}, nil)
	if err != nil {
		return 0, 0, fmt.Errorf("memory of channel %s: %w", scope.Name, err)
	}
	numbers, err := integers(reply)
	if err != nil || len(numbers) != 2 {
		return 0, 0, fmt.Errorf("memory of channel %s: %w: reply of %d values: %w", scope.Name, store.ErrUnavailable, len(reply), err)
	}
	return numbers[0], numbers[1], nil
}
