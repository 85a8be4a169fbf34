package memory

import (
	"context"

	"slackrelay/store"
)

// Peek implements [store.Admissions]. It is the twin of lua/peek.lua.
func (s *Store) Peek(_ context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return s.decide(store.ModePeek, channel, requests)
}

// isPeek reports whether the batch writes nothing.
func (b *batch) isPeek() bool { return b.plan.Mode == store.ModePeek }
