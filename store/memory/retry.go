package memory

import (
	"context"

	"slackrelay/store"
)

// Retry implements [store.Queue]. It is the twin of lua/retry.lua.
func (s *Store) Retry(_ context.Context, channel store.Channel, claimed store.Entry, plan store.RetryPlan) error {
	return s.withLease("retry", channel, func(tx *Tx, current *lease) error {
		tried, isExtra := findClaimed(tx, channel, claimed)
		switch {
		case tried == nil:
			return nil
		case !tried.isLatestClaim(claimed):
			return store.ErrLeaseLost
		}
		current.release(s.opts.Owner)
		if plan.Fault {
			tried.faults++
		}
		tried.setSendState(store.SendState(plan.StateOrDefault()), tx.now)
		until := tx.now + plan.Wait.Microseconds()
		if isExtra && plan.Waits == store.EntryWaits {
			Look[queue](tx, channel.Keys().Outbox()).postpone(claimed.Number, until)
			return nil
		}
		paused := lookOrCreate[pause](tx, channel.Keys().Pause())
		switch {
		case plan.Waits == store.EditsWait:
			paused.editsUntil = max(paused.editsUntil, until)
		case until > max(tx.now, paused.until):
			paused.until = until
			paused.reason = plan.Reason
		}
		return nil
	})
}

// setSendState notes whether the last attempt was posted.
func (e *entry) setSendState(state store.SendState, now int64) {
	switch state {
	case store.NotPosted:
		e.forgetAttempts()
	case store.NotFound:
		e.looked++
	case store.SendAgain:
		e.resend = true
	case store.MaybePosted:
		if e.sent == 0 {
			e.sent = e.at
			e.tried = now
		}
	}
}
