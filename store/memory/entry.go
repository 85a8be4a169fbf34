package memory

import (
	"fmt"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// withClaimed runs f with an entry that was claimed, unless another sender holds the lease. What this sender claimed is not
// in flight any more. An entry that is gone changes nothing.
func (s *Store) withClaimed(verb string, channel store.Channel, claimed store.Entry, f func(tx channelTx, e *entry) error) error {
	var err error
	s.do(channel, func(tx channelTx) { err = s.inClaimed(tx, claimed, f) })
	if err != nil {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, err)
	}
	return nil
}

func (s *Store) inClaimed(tx channelTx, claimed store.Entry, f func(tx channelTx, e *entry) error) error {
	current := tx.lease()
	if current.isHeldByOther(s.opts.Owner, tx.now) {
		return store.ErrLeaseLost
	}
	current.inFlight = 0
	if found := tx.claimed(claimed); found != nil {
		return f(tx, found)
	}
	return nil
}

// claimed returns the entry that was claimed, or nil where it is gone. Its number alone does not identify it: a store that
// lost its newest data gives numbers again.
func (tx channelTx) claimed(claimed store.Entry) *entry {
	if found := tx.outbox().find(claimed.Number); found != nil && found.at == claimed.AdmittedAt {
		return found
	}
	return nil
}

// isLatestClaim reports whether no other claim followed the caller's: the attempt of that one may have been posted.
func (e *entry) isLatestClaim(claimed store.Entry) bool { return e.attempts <= claimed.Attempts+1 }

// settle removes an entry, counts its result, and runs f. Every result but a delivery is refused where another claim
// followed.
func (s *Store) settle(channel store.Channel, claimed store.Entry, result string, f func(tx channelTx, removed *entry)) error {
	return s.withClaimed("settle "+result, channel, claimed, settleAs(result, claimed, f))
}

func settleAs(result string, claimed store.Entry, f func(tx channelTx, removed *entry)) func(tx channelTx, found *entry) error {
	return func(tx channelTx, found *entry) error {
		if result != store.Delivered && !found.isLatestClaim(claimed) {
			return store.ErrLeaseLost
		}
		removed := *found
		tx.outbox().remove(removed.number)
		counted := result
		if removed.isExtra {
			counted = removed.kind + ":" + result
		}
		tx.ledger()[counted]++
		Look[ratelimit.BacklogQueue](tx.Tx, claimed.Backlog).Leave(removed.number)
		f(tx, &removed)
		return nil
	}
}
