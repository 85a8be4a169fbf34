package memory

import (
	"context"
	"fmt"
	"time"

	"slackrelay/store"
)

type lease struct {
	owner   string
	until   int64
	call    int64 // the number of the owner's claim
	inHand  int64 // the entry that was claimed and not settled yet
	stopped bool  // nothing is claimed: see TakeBack
}

// Renew implements [Outbox].
func (m *Store) Renew(_ context.Context, channel store.Channel) (time.Time, error) {
	before, lost := time.Now(), false
	m.data.Do(func(tx *Tx) {
		held := Value[lease](tx, channel.Keys().Lease())
		if lost = held.owner != m.opts.Owner; !lost {
			held.until = tx.Now + m.opts.Lease.Microseconds()
		}
	})
	if lost {
		return time.Time{}, fmt.Errorf("renew in channel %s: %w", channel.Name, store.ErrLeaseLost)
	}
	return before.Add(m.data.Wall(m.opts.Lease)), nil
}

// Release implements [Outbox].
func (m *Store) Release(_ context.Context, channel store.Channel) error {
	m.data.Do(func(tx *Tx) { Value[lease](tx, channel.Keys().Lease()).giveUp(m.opts.Owner) })
	return nil
}

// fenced runs f unless another sender holds the lease.
func (m *Store) fenced(verb string, channel store.Channel, f func(tx *Tx, held *lease) error) error {
	var lost error
	m.data.Do(func(tx *Tx) {
		held := Value[lease](tx, channel.Keys().Lease())
		if held.owner != "" && held.owner != m.opts.Owner && held.until > tx.Now {
			lost = store.ErrLeaseLost
			return
		}
		held.inHand = 0
		lost = f(tx, held)
	})
	if lost != nil {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, lost)
	}
	return nil
}

func (l *lease) giveUp(owner string) {
	if l.owner == owner {
		*l = lease{stopped: l.stopped}
	}
}
