package memory

import (
	"context"
	"fmt"
	"time"

	"slackrelay/store"
)

// Renew implements [store.Queue]. It is the twin of lua/renew.lua.
func (s *Store) Renew(_ context.Context, channel store.Channel) (time.Time, error) {
	before := time.Now()
	isLost := false
	s.data.Do(func(tx *Tx) {
		current := lookOrCreate[lease](tx, channel.Keys().Lease())
		if isLost = current.owner != s.opts.Owner; !isLost {
			current.until = tx.now + s.opts.Lease.Microseconds()
		}
	})
	if isLost {
		return time.Time{}, fmt.Errorf("renew in channel %s: %w", channel.Name, store.ErrLeaseLost)
	}
	return before.Add(s.data.wall(s.opts.Lease)), nil
}
