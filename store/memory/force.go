package memory

import (
	"context"

	"slackrelay/store"
)

// Force implements [store.Admissions].
func (m *Store) Force(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	answer, err := m.Decide(ctx, store.ModeForce, channel, requests)
	return answer.Decisions, err
}
