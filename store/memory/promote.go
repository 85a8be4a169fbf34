package memory

import (
	"context"

	"slackrelay/store"
)

// Promote implements [store.Admissions].
func (m *Store) Promote(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	answer, err := m.Decide(ctx, store.ModePromote, channel, requests)
	return answer.Decisions, err
}
