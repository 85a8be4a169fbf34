package replica

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Peek decides requests without spending or counting anything. While the store is unavailable, the fallback answers.
func (l *Limiter) Peek(ctx context.Context, scope store.Channel, requests []store.Request) (answer store.Answer, err error) {
	requests = l.peers.widen(requests)
	err = l.channel(scope).read(ctx, asStored, func(ctx context.Context, from Decider) error {
		answer, err = from.Peek(ctx, scope, requests)
		return err
	})
	return answer, err
}

// Report reads the ledger and the state of a channel, with the counts of this process merged in. While the store is
// unavailable, it returns what this process alone counted since.
func (l *Limiter) Report(ctx context.Context, scope store.Channel) (report store.Report, err error) {
	err = l.channel(scope).read(ctx, withOwnCounts, func(ctx context.Context, from Decider) error {
		report, err = from.Report(ctx, scope)
		return err
	})
	return report, err
}

// Categories reads the counts of the last 24 hours; while the store is unavailable, those that this process alone made.
func (l *Limiter) Categories(ctx context.Context, scope store.Channel) (counts []store.CategoryCounts, err error) {
	err = l.channel(scope).read(ctx, asStored, func(ctx context.Context, from Decider) error {
		counts, err = from.Categories(ctx, scope)
		return err
	})
	return counts, err
}

// Minutes reads the counts of each minute, with those of this process merged in. While the store is unavailable, it returns
// what this process alone counted since.
func (l *Limiter) Minutes(
	ctx context.Context, scope store.Channel, back time.Duration,
) (now time.Time, counts []store.MinuteCount, err error) {
	err = l.channel(scope).read(ctx, withOwnCounts, func(ctx context.Context, from Decider) error {
		now, counts, err = from.Minutes(ctx, scope, back)
		return err
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

// Warming returns for how long each level still counts too little. While the store is unavailable, that is not known, and
// it returns 0 for each.
func (l *Limiter) Warming(ctx context.Context, scope store.Channel, levels []ratelimit.LevelSpec) ([]time.Duration, error) {
	if l.channel(scope).outage.down() {
		return make([]time.Duration, len(levels)), nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.CallTimeout)
	defer cancel()
	return l.store.Warming(ctx, scope, levels)
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

// read has query read from the store, or from the fallback while the store is unavailable.
func (ch *channel) read(ctx context.Context, fresh freshness, query func(ctx context.Context, from Decider) error) error {
	if ch.outage.down() {
		return query(ctx, ch.opts.Fallback)
	}
	ctx, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
	defer cancel()
	if fresh == withOwnCounts {
		if err := ch.mergeCounts(ctx); err != nil {
			return err
		}
	}
	return query(ctx, ch.store)
}
