package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

// Reset implements [store.Admissions].
func (r *Store) Reset(ctx context.Context, levels ...ratelimit.Level) error {
	for _, level := range levels {
		if err := lua.Reset.Run(ctx, r.scripter, []string{level.Key}).Err(); err != nil {
			return fmt.Errorf("reset level %s: %w", level.Name, scriptError(err))
		}
	}
	return nil
}
