package replica

import (
	"context"
	"fmt"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Problems loads documents of a channel. As all methods of documents, it returns [ratelimit.ErrUnavailable] at once while
// the store is unavailable: documents have no fallback.
func (l *Limiter) Problems(ctx context.Context, scope store.Channel, names []string) (now int64, all []store.Problem, err error) {
	err = l.withDocuments(ctx, scope, func(ctx context.Context) error {
		now, all, err = l.store.Problems(ctx, scope, names)
		return err
	})
	return now, all, err
}

// SaveProblems changes documents of a channel.
func (l *Limiter) SaveProblems(
	ctx context.Context, scope store.Channel, changes []store.ProblemChange, counts store.ProblemCounts,
) (saved bool, err error) {
	err = l.withDocuments(ctx, scope, func(ctx context.Context) error {
		saved, err = l.store.SaveProblems(ctx, scope, changes, counts)
		return err
	})
	return saved, err
}

// DueProblems loads documents whose wake time has passed.
func (l *Limiter) DueProblems(ctx context.Context, scope store.Channel, most int) (now int64, all []store.Problem, err error) {
	err = l.withDocuments(ctx, scope, func(ctx context.Context) error {
		now, all, err = l.store.DueProblems(ctx, scope, most)
		return err
	})
	return now, all, err
}

// ListProblems loads documents in the order of their names.
func (l *Limiter) ListProblems(
	ctx context.Context, scope store.Channel, prefix, after string, most int,
) (now int64, all []store.Problem, err error) {
	err = l.withDocuments(ctx, scope, func(ctx context.Context) error {
		now, all, err = l.store.ListProblems(ctx, scope, prefix, after, most)
		return err
	})
	return now, all, err
}

// withDocuments makes a call of the store, unless that is unavailable.
func (l *Limiter) withDocuments(ctx context.Context, scope store.Channel, call func(ctx context.Context) error) error {
	if ch := l.usedChannel(scope); ch != nil && ch.outage.down() {
		return fmt.Errorf("documents of channel %s: %w: %w", scope.Name, ratelimit.ErrUnavailable, store.ErrNotSent)
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.CallTimeout)
	defer cancel()
	return call(ctx)
}
