package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Memory implements [store.Replication].
func (r *Store) Memory(ctx context.Context, channel store.Channel) (used, most int64, err error) {
	reply, err := r.run(ctx, lua.Memory, []string{channel.Keys().Ledger()})
	if err != nil {
		return 0, 0, fmt.Errorf("memory of channel %s: %w", channel.Name, err)
	}
	numbers, err := integers(reply)
	if err != nil || len(numbers) != 2 {
		return 0, 0, fmt.Errorf("memory of channel %s: %w: reply of %d values: %w", channel.Name, ratelimit.ErrUnavailable, len(reply), err)
	}
	return numbers[0], numbers[1], nil
}
