package memory

import (
	"context"

	"slackrelay/store"
)

// Ack implements [store.Queue]. It is the twin of lua/ack.lua.
func (s *Store) Ack(_ context.Context, channel store.Channel, claimed store.Entry, receipt store.Receipt) error {
	return s.settle(channel, claimed, store.Delivered, s.shown(receipt))
}

// shown notes of a message that was delivered where it is in Slack.
func (s *Store) shown(receipt store.Receipt) func(tx channelTx, delivered *entry) {
	return func(tx channelTx, delivered *entry) {
		s.keepResult(tx, delivered, store.OutageResult{
			Result: store.Delivered, Channel: receipt.Channel, TS: receipt.TS,
		})
		if message := tx.posted().messages[delivered.number]; message != nil {
			message.TS = receipt.TS
			message.Channel = receipt.Channel
			message.InSlack = true
		}
	}
}
