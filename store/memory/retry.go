package memory

import (
	"context"

	"slackrelay/store"
)

// Retry implements [store.Queue]. It is the twin of lua/retry.lua.
func (s *Store) Retry(_ context.Context, channel store.Channel, claimed store.Entry, plan store.RetryPlan) error {
	return s.withClaimed("retry", channel, claimed, func(tx channelTx, tried *entry) error {
		if !tried.isLatestClaim(claimed) {
			return store.ErrLeaseLost
		}
		tx.lease().release(s.opts.Owner)
		tx.lookNow(store.WorkSend)
		if plan.Fault {
			tried.faults++
		}
		tried.setSendState(store.SendState(plan.StateOrDefault()), tx.now)
		until := tx.now + plan.Wait.Microseconds()
		if tried.isExtra && plan.Waits == store.EntryWaits {
			tx.outbox().postpone(tried, until)
			return nil
		}
		paused := tx.pause()
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
