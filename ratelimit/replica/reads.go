package replica

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Peek implements [Limiter].
func (s *Limiter) Peek(ctx context.Context, scope store.Channel, requests []store.Request) ([]store.Decision, error) {
	requests = s.peers.widen(requests)
	if s.channel(scope).outage.down() {
		return s.local.Peek(ctx, scope, requests)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.engine.Peek(ctx, scope, requests)
}

// Report implements [Limiter]. What this process counted by itself is folded in first. While Redis is away, it
// tells what this process alone counted since.
func (s *Limiter) Report(ctx context.Context, scope store.Channel) (store.Report, error) {
	ch := s.channel(scope)
	if ch.outage.down() {
		return s.local.Report(ctx, scope)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	if err := ch.MergeCounts(ctx); err != nil {
		return store.Report{}, err
	}
	return s.engine.Report(ctx, scope)
}

// Categories implements [Limiter], with the same exception as Report.
func (s *Limiter) Categories(ctx context.Context, scope store.Channel) ([]store.CategoryCounts, error) {
	if s.channel(scope).outage.down() {
		return s.local.Categories(ctx, scope)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.engine.Categories(ctx, scope)
}

// Minutes implements [Limiter], with the same exception as Report.
func (s *Limiter) Minutes(ctx context.Context, scope store.Channel, back time.Duration) (time.Time, []store.MinuteCount, error) {
	ch := s.channel(scope)
	if ch.outage.down() {
		return s.local.Minutes(ctx, scope, back)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	if err := ch.MergeCounts(ctx); err != nil {
		return time.Time{}, nil, err
	}
	return s.engine.Minutes(ctx, scope, back)
}

// Drops implements [Limiter].
func (s *Limiter) Drops(ctx context.Context, scope store.Channel, before string, most int) ([]store.Drop, error) {
	ch := s.channel(scope)
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	if !ch.outage.down() {
		if err := ch.MergeCounts(ctx); err != nil {
			return nil, err
		}
	}
	return s.engine.Drops(ctx, scope, before, most)
}

// Warming implements [Limiter]. While Redis is away, nothing is known of it.
func (s *Limiter) Warming(ctx context.Context, scope store.Channel, tiers []ratelimit.LevelSpec) ([]time.Duration, error) {
	if s.channel(scope).outage.down() {
		return make([]time.Duration, len(tiers)), nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.engine.Warming(ctx, scope, tiers)
}

// Ping implements [Limiter].
func (s *Limiter) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.engine.Ping(ctx)
}

// Durable implements [Limiter]. It is about the engine: a [Decision] says whether it was the fallback's.
func (s *Limiter) Durable() bool { return s.engine.Durable() }
