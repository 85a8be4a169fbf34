package memory

import (
	"context"
	"fmt"

	"slackrelay/store"
)

// Discard implements [store.Queue]. It is the twin of lua/discard.lua.
func (s *Store) Discard(_ context.Context, channel store.Channel, claimed store.Entry) error {
	isMessage := false
	s.do(channel, func(tx channelTx) {
		found := tx.claimed(claimed)
		isMessage = found != nil && !found.isExtra
	})
	if isMessage {
		return fmt.Errorf("settle gone in channel %s: only an extra can be discarded, and entry %d is a message", channel.Name, claimed.Number)
	}
	return s.settle(channel, claimed, "gone", func(channelTx, *entry) {})
}
