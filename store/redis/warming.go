package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Warming implements [store.Counts].
func (r *Store) Warming(ctx context.Context, channel store.Channel, levels []ratelimit.LevelSpec) ([]time.Duration, error) {
	args := make([]any, 0, 2*len(levels))
	for _, level := range levels {
		args = append(args, level.Name, ratelimit.Longest(level.Windows).Microseconds())
	}
	reply, err := r.run(ctx, lua.Warming, []string{channel.Keys().Windows()}, args...)
	if err != nil {
		return nil, fmt.Errorf("warming of channel %s: %w", channel.Name, err)
	}
	numbers, err := integers(reply)
	if err != nil || len(numbers) != len(levels) {
		return nil, fmt.Errorf("warming of channel %s: %w: reply of %d values: %w", channel.Name, ratelimit.ErrUnavailable, len(reply), err)
	}
	warming := make([]time.Duration, len(levels))
	for i, us := range numbers {
		warming[i] = store.Microseconds(us)
	}
	return warming, nil
}
