package memory

import (
	"context"

	"slackrelay/store"
)

// Release implements [store.Queue]. It is the twin of lua/release.lua.
func (s *Store) Release(_ context.Context, channel store.Channel) error {
	s.data.Do(func(tx *Tx) { lookOrCreate[lease](tx, channel.Keys().Lease()).release(s.opts.Owner) })
	return nil
}
