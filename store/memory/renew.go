package memory

import (
	"context"
	"fmt"
	"time"

	"slackrelay/store"
)

// Renew implements [store.Queue]. It is the twin of lua/renew.lua.
func (s *Store) Renew(_ context.Context, channel store.Channel) (until time.Time, err error) {
	before := time.Now()
	s.do(channel, func(tx channelTx) {
		current := tx.lease()
		if current.owner != s.opts.Owner {
			err = fmt.Errorf("renew in channel %s: %w", channel.Name, store.ErrLeaseLost)
			return
		}
		current.until = tx.now + s.opts.Lease.Microseconds()
		until = before.Add(s.data.wall(s.opts.Lease))
	})
	return until, err
}
