package replica

import (
	"context"
	"time"

	"slackrelay/store"
)

// Peek decides requests without spending or counting anything. While the store is unavailable, the fallback answers.
func (l *Limiter) Peek(ctx context.Context, scope store.Channel, requests []store.Request) (store.Answer, error) {
	requests = l.peers.widen(requests)
	return read(ctx, l.channel(scope), asStored, func(from Decider, ctx context.Context, scope store.Channel) (store.Answer, error) {
		return from.Peek(ctx, scope, requests)
	})
}

// Report reads the ledger and the state of a channel, with the counts of this process merged in. While the store is
// unavailable, it returns what this process alone counted since.
func (l *Limiter) Report(ctx context.Context, scope store.Channel) (store.Report, error) {
	return read(ctx, l.channel(scope), withOwnCounts, Decider.Report)
}

// Categories reads the counts of the last 24 hours; while the store is unavailable, those that this process alone made.
func (l *Limiter) Categories(ctx context.Context, scope store.Channel) ([]store.CategoryCounts, error) {
	return read(ctx, l.channel(scope), asStored, Decider.Categories)
}

// Minutes reads the counts of each minute, with those of this process merged in. While the store is unavailable, it returns
// what this process alone counted since.
func (l *Limiter) Minutes(
	ctx context.Context, scope store.Channel, back time.Duration,
) (now time.Time, counts []store.MinuteCount, err error) {
	counts, err = read(ctx, l.channel(scope), withOwnCounts,
		func(from Decider, ctx context.Context, scope store.Channel) (counts []store.MinuteCount, err error) {
			now, counts, err = from.Minutes(ctx, scope, back)
			return counts, err
		})
	return now, counts, err
}

// Drops reads the record of drops, with those of this process merged in where the store is available.
func (l *Limiter) Drops(ctx context.Context, scope store.Channel, before string, most int) ([]store.Drop, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.CallTimeout)
	defer cancel()
	if ch := l.channel(scope); !ch.outage.down() {
		if err := ch.mergeCounts(ctx); err != nil {
			return nil, err
		}
	}
	return l.store.Drops(ctx, scope, before, most)
}

// Ping returns an error unless the store can make decisions now.
func (l *Limiter) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.CallTimeout)
	defer cancel()
	return l.store.Ping(ctx)
}

// Durable reports whether the store is durable. Durable of a [store.Decision] is about that decision.
func (l *Limiter) Durable() bool { return l.store.Durable() }

// freshness is whether a read must include what this process counted and the store does not have yet.
type freshness bool

const (
	asStored      freshness = false
	withOwnCounts freshness = true
)

// query is a method of [Decider] that reads from a channel.
type query[T any] func(from Decider, ctx context.Context, scope store.Channel) (T, error)

// read asks the store, or the fallback while the store is unavailable.
func read[T any](ctx context.Context, ch *channel, fresh freshness, ask query[T]) (answer T, err error) {
	if ch.outage.down() {
		return ask(ch.opts.Fallback, ctx, ch.scope)
	}
	ctx, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
	defer cancel()
	if fresh == withOwnCounts {
		if err = ch.mergeCounts(ctx); err != nil {
			return answer, err
		}
	}
	return ask(ch.store, ctx, ch.scope)
}
