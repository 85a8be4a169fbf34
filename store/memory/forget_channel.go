package memory

import (
	"context"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// ForgetChannel implements [store.Instances]. It is the twin of lua/forget_channel.lua.
func (s *Store) ForgetChannel(_ context.Context, channel store.Channel) (forgotten bool, err error) {
	s.do(channel, func(tx channelTx) {
		if tx.isNeeded() {
			return
		}
		k := tx.keys
		for _, key := range []string{
			k.Outbox(), k.Dead(), k.Drops(), k.Ledger(), k.Posted(), k.Digest(), k.LastAdmitted(),
		} {
			tx.remove(key)
		}
		forgotten = true
	})
	return forgotten, nil
}

// isNeeded reports whether the channel has work, or something that is still shown, or had events in this hour or the one before.
func (tx channelTx) isNeeded() bool {
	outbox, due := tx.outbox(), tx.look(lua.DueIndex)
	for _, kind := range []store.WorkKind{store.WorkSend, store.WorkPromote, store.WorkProblem} {
		if _, has := due[tx.keys.Work(string(kind))]; has {
			return true
		}
	}
	return len(outbox.messages)+len(outbox.extras)+len(outbox.delayed) > 0 || len(tx.dead().all)+len(tx.drops().all) > 0 ||
		len(tx.look(tx.keys.Minutes(tx.time)))+len(tx.look(tx.keys.Minutes(tx.time.Add(-time.Hour)))) > 0
}
