package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// AckClaim implements [store.Queue].
func (r *Store) AckClaim(
	ctx context.Context, channel store.Channel, delivered store.Delivery, terms store.Terms, look bool,
) (store.Claim, error) {
	if err := terms.Check(); err != nil {
		return store.Claim{}, fmt.Errorf("ack and claim in channel %s: %w", channel.Name, err)
	}
	before := time.Now()
	call := r.calls.Begin(channel)
	claim, err := r.ackClaim(ctx, channel, delivered, r.claimArgs(terms, look, call))
	if err != nil {
		r.calls.Lose(channel, call.Number)
		return store.Claim{}, fmt.Errorf("ack and claim in channel %s: %w", channel.Name, err)
	}
	return r.leased(claim, terms, before), nil
}

func (r *Store) ackClaim(ctx context.Context, channel store.Channel, delivered store.Delivery, args []any) (store.Claim, error) {
	k, entry := channel.Keys(), &delivered.Entry
	keys := append(claimKeys(channel), k.Ledger(), k.Posted())
	if entry.Backlog != "" {
		keys = append(keys, entry.Backlog)
	}
	args = append(args, entry.Number, entry.AdmittedAt, delivered.Receipt.Channel, delivered.Receipt.TS)
	reply, err := r.run(ctx, lua.AckClaim, keys, args...)
	if err != nil {
		return store.Claim{}, err
	}
	if len(reply) > 0 && reply[0] == int64(-1) {
		return store.Claim{}, store.ErrLeaseLost
	}
	claim, err := decodeClaim(reply[min(1, len(reply)):])
	if err != nil {
		return store.Claim{}, fmt.Errorf("%w: %w", ratelimit.ErrUnavailable, err)
	}
	return claim, nil
}
