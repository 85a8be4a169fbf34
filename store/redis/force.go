package redis

import (
	"context"

	"slackrelay/store"
)

// Force implements [store.Admissions].
func (r *Store) Force(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	answer, err := r.checkAndDecide(ctx, store.ModeForce, channel, requests)
	return answer.Decisions, err
}
