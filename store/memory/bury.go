package memory

import (
	"context"

	"slackrelay/store"
)

// Bury implements [store.Queue]. It is the twin of lua/bury.lua.
func (s *Store) Bury(_ context.Context, channel store.Channel, claimed store.Entry, death store.DeadReason) error {
	return s.settle(channel, claimed, store.Failed, func(tx channelTx, buried *entry) {
		s.keepResult(tx, buried, store.OutageResult{
			Result: store.Failed, Reason: death.Reason, Answer: death.Answer, Attempts: buried.attempts,
			MaybePosted: death.MaybePosted, KeepDeadLetters: s.opts.DeadLetters,
		})
		tx.bury(store.DeadLetter{
			Number: buried.number, Kind: buried.kind, Payload: buried.payload,
			Reason: death.Reason, Answer: death.Answer, Attempts: buried.attempts,
		}, s.opts.DeadLetters)
		if death.CopyTo != nil {
			to := channelTx{tx.Tx, death.CopyTo.Keys()}
			to.outbox().addExtra(tx.now, tx.now, store.KindCopy, buried.payload)
			to.lookNow(store.WorkSend)
		}
		tx.posted().forgetBuried(buried.number, death.MaybePosted)
	})
}

// bury adds a dead letter to those of the channel, which keeps at most this many.
func (tx channelTx) bury(letter store.DeadLetter, keep int64) {
	dead := tx.dead()
	letter.ID = dead.nextID(tx.time)
	letter.At = tx.time
	dead.add(letter, letter.Payload, keep, maxDeadBytes)
}

// forgetBuried forgets the message of a dead letter. Where it may have appeared, only its location is unknown.
func (p *posted) forgetBuried(number int64, maybePosted bool) {
	if !maybePosted {
		p.forget(number)
		return
	}
	if message := p.messages[number]; message != nil {
		message.TS = ""
		message.Channel = ""
		message.InSlack = true
	}
}
