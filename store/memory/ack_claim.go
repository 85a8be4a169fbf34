package memory

import (
	"context"
	"fmt"
	"time"

	"slackrelay/store"
)

// AckClaim implements [store.Queue]. It is the twin of lua/ack_claim.lua.
func (s *Store) AckClaim(
	ctx context.Context, channel store.Channel, delivered store.Delivery, terms store.Terms, look bool,
) (store.Claim, error) {
	err := terms.Check()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return store.Claim{}, fmt.Errorf("ack and claim in channel %s: %w", channel.Name, err)
	}
	before := time.Now()
	call := s.calls.Begin(channel)
	var claim store.Claim
	acknowledge := settleAs(store.Delivered, delivered.Entry, s.shown(delivered.Receipt))
	s.do(channel, func(tx channelTx) {
		if err = s.inClaimed(tx, delivered.Entry, acknowledge); err == nil {
			claim = s.claimant(tx, terms, look, call).claim()
		}
	})
	if err == nil {
		err = ctx.Err() // the caller is gone, as that of a call over a network may be
	}
	if err != nil {
		s.calls.Lose(channel, call.Number)
		return store.Claim{}, fmt.Errorf("ack and claim in channel %s: %w", channel.Name, err)
	}
	return s.leased(claim, terms, before), nil
}
