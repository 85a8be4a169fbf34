package memory

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Bury implements [store.Queue]. It is the twin of lua/bury.lua.
func (s *Store) Bury(_ context.Context, channel store.Channel, claimed store.Entry, death store.DeadReason) error {
	return s.settle(channel, claimed, store.Failed, func(tx *Tx, buried *entry) {
		s.keepResult(tx, channel, buried, store.OutageResult{
			Result: store.Failed, Reason: death.Reason, Answer: death.Answer, Attempts: buried.attempts,
			MaybePosted: death.MaybePosted, KeepDeadLetters: s.opts.DeadLetters,
		})
		lookOrCreate[deadLetters](tx, channel.Keys().Dead()).add(store.DeadLetter{
			At: tx.time, Number: buried.number, Kind: buried.kind, Payload: buried.payload,
			Reason: death.Reason, Answer: death.Answer, Attempts: buried.attempts,
		}, s.opts.DeadLetters)
		if death.CopyTo != nil {
			outbox := lookOrCreate[queue](tx, death.CopyTo.Keys().Outbox())
			outbox.addExtra(tx.now, tx.now, store.KindCopy, buried.payload)
		}
		forgetBuried(tx, channel.Keys(), buried.number, death.MaybePosted)
	})
}

// forgetBuried forgets the message of a dead letter. Where it may have appeared, only its location is unknown.
func forgetBuried(tx *Tx, keys lua.Keys, number int64, mayBeShown bool) {
	messages := lookOrCreate[posted](tx, keys.Posted())
	if !mayBeShown {
		messages.forget(number)
		return
	}
	if message := messages.message(number); message != nil {
		message.TS = ""
		message.Channel = ""
		message.InSlack = true
	}
}
