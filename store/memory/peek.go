package memory

import (
	"context"

	"slackrelay/store"
)

// Peek implements [store.Limiter]. It is the twin of lua/peek.lua.
func (s *Store) Peek(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	answer, err := s.checkAndDecide(ctx, store.ModePeek, channel, requests)
	return answer.Decisions, err
}

// isPeek reports whether the batch writes nothing.
func (b *batch) isPeek() bool { return b.plan.Mode == store.ModePeek }
