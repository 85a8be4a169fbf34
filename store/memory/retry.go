package memory

import (
	"context"

	"slackrelay/store"
)

// Retry implements [Outbox].
func (m *Store) Retry(_ context.Context, channel store.Channel, named store.Entry, p store.RetryPlan) error {
	return m.fenced("retry", channel, func(tx *Tx, held *lease) error {
		entry, extra := find(tx, channel, named)
		switch {
		case entry == nil:
			return nil
		case entry.Attempts > named.Attempts+1:
			return store.ErrLeaseLost
		}
		held.giveUp(m.opts.Owner)
		if p.Fault {
			entry.Faults++
		}
		switch store.SendState(p.StateOrDefault()) {
		case store.NotPosted:
			entry.Sent, entry.Tried, entry.Looked, entry.Claim = 0, 0, 0, Claim{}
		case store.NotFound:
			entry.Looked++
		case store.SendAgain:
			entry.Again = true
		case store.MaybePosted:
			if entry.Sent == 0 {
				entry.Sent, entry.Tried = entry.At, tx.Now
			}
		}
		until := tx.Now + p.Wait.Microseconds()
		if extra && p.Waits == store.EntryWaits {
			Look[Queue](tx, channel.Keys().Outbox()).Postpone(named.Number, until)
			return nil
		}
		pause := Value[Pause](tx, channel.Keys().Pause())
		switch {
		case p.Waits == store.EditsWait:
			pause.Edits = max(pause.Edits, until)
		case until > max(tx.Now, pause.Until):
			pause.Until, pause.Reason = until, p.Reason
		}
		return nil
	})
}
