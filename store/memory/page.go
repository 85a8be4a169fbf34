package memory

import (
	"context"

	"slackrelay/store"
)

// DeadLetters implements [store.DeadLetters]. It is the twin of lua/page.lua.
func (s *Store) DeadLetters(_ context.Context, channel store.Channel, before string, limit int) (page []store.DeadLetter, err error) {
	s.do(channel, func(tx channelTx) { page = tx.dead().page(before, limit) })
	return page, nil
}

// Drops implements [store.Counts]. It is the twin of lua/page.lua.
func (s *Store) Drops(_ context.Context, channel store.Channel, before string, limit int) (page []store.Drop, err error) {
	s.do(channel, func(tx channelTx) { page = tx.drops().page(before, limit) })
	return page, nil
}
