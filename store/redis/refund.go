package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// Refund implements [store.Admissions].
func (r *Store) Refund(ctx context.Context, channel store.Channel, request store.Request) error {
	if err := store.Check(store.ModeAdmit, []store.Request{request}); err != nil {
		return err
	}
	k := channel.Keys()
	keys := []string{k.Seen(), k.Refunds(), k.Delayed(), lua.DueIndex}
	args := []any{request.ID, request.Units(), r.opts.Dedupe.Microseconds()}
	for _, level := range request.Levels {
		keys = append(keys, level.Key)
		args = append(args, level.Strategy.Tag(), level.Option())
	}
	if err := lua.Refund.Run(ctx, r.scripter, keys, args...).Err(); err != nil {
		return fmt.Errorf("refund in channel %s: %w", channel.Name, scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
	}
	return nil
}
