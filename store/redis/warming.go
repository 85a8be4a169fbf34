package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Warming implements [Limiter].
func (r *Store) Warming(ctx context.Context, scope store.Channel, tiers []ratelimit.LevelSpec) ([]time.Duration, error) {
	args := make([]any, 0, 2*len(tiers))
	for _, tier := range tiers {
		args = append(args, tier.Name, ratelimit.Longest(tier.Windows).Microseconds())
	}
	reply, err := run(ctx, r.scripter, lua.Warming, []string{scope.Keys().Windows()}, args)
	if err != nil {
		return nil, fmt.Errorf("warming of channel %s: %w", scope.Name, err)
	}
	numbers, err := integers(reply)
	if err != nil || len(numbers) != len(tiers) {
		return nil, fmt.Errorf("warming of channel %s: %w: reply of %d values: %w", scope.Name, store.ErrUnavailable, len(reply), err)
	}
	warming := make([]time.Duration, len(tiers))
	for i, us := range numbers {
		warming[i] = store.Microseconds(us)
	}
	return warming, nil
}
