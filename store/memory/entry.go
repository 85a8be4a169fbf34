package memory

import (
	"fmt"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// withLease runs f unless another sender holds the lease. What this sender claimed is not in flight any more.
func (s *Store) withLease(verb string, channel store.Channel, f func(tx *Tx, current *lease) error) error {
	var err error
	s.data.Do(func(tx *Tx) {
		current := lookOrCreate[lease](tx, channel.Keys().Lease())
		if current.isHeldByOther(s.opts.Owner, tx.now) {
			err = store.ErrLeaseLost
			return
		}
		current.inFlight = 0
		err = f(tx, current)
	})
	if err != nil {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, err)
	}
	return nil
}

// findClaimed returns the entry that was claimed, and whether it is an extra; nil = it is gone. Its number alone does not
// identify it: a store that lost its newest data gives numbers again.
func findClaimed(tx *Tx, channel store.Channel, claimed store.Entry) (found *entry, isExtra bool) {
	found, isExtra = Look[queue](tx, channel.Keys().Outbox()).find(claimed.Number)
	if found == nil || found.at != claimed.AdmittedAt {
		return nil, false
	}
	return found, isExtra
}

// isLatestClaim reports whether no other claim followed the caller's: the attempt of that one may have been posted.
func (e *entry) isLatestClaim(claimed store.Entry) bool { return e.attempts <= claimed.Attempts+1 }

// settle removes an entry, counts its result, and runs f. Every result but a delivery is refused where another claim
// followed. An entry that is gone changes nothing.
func (s *Store) settle(channel store.Channel, claimed store.Entry, result string, f func(tx *Tx, removed *entry)) error {
	return s.withLease("settle "+result, channel, func(tx *Tx, _ *lease) error {
		found, isExtra := findClaimed(tx, channel, claimed)
		switch {
		case found == nil:
			return nil
		case result != store.Delivered && !found.isLatestClaim(claimed):
			return store.ErrLeaseLost
		}
		removed, counted := *found, result
		Look[queue](tx, channel.Keys().Outbox()).remove(removed.number)
		if isExtra {
			counted = removed.kind + ":" + result
		}
		lookOrCreate[counts](tx, channel.Keys().Ledger()).add(counted, 1)
		Look[ratelimit.BacklogQueue](tx, claimed.Backlog).Leave(removed.number)
		f(tx, &removed)
		return nil
	})
}
