package redis

import (
	"context"

	"slackrelay/store"
)

// Promote implements [store.Admissions].
func (r *Store) Promote(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	answer, err := r.checkAndDecide(ctx, store.ModePromote, channel, requests)
	return answer.Decisions, err
}
