package redis

import (
	"context"

	"slackrelay/store"
)

// Peek implements [store.Admissions].
func (r *Store) Peek(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	answer, err := r.checkAndDecide(ctx, store.ModePeek, channel, requests)
	return answer.Decisions, err
}
