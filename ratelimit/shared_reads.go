package ratelimit

import (
	"context"
	"time"
)

// Peek implements [Limiter].
func (s *Shared) Peek(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
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
func (s *Shared) Report(ctx context.Context, scope Scope) (Report, error) {
	ch := s.channel(scope)
	if ch.outage.down() {
		return s.local.Report(ctx, scope)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	if err := ch.fold(ctx); err != nil {
		return Report{}, err
	}
	return s.engine.Report(ctx, scope)
}

// Categories implements [Limiter], with the same exception as Report.
func (s *Shared) Categories(ctx context.Context, scope Scope) ([]CategoryCounts, error) {
	if s.channel(scope).outage.down() {
		return s.local.Categories(ctx, scope)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.engine.Categories(ctx, scope)
}

// Minutes implements [Limiter], with the same exception as Report.
func (s *Shared) Minutes(ctx context.Context, scope Scope, back time.Duration) (time.Time, []MinuteCount, error) {
	ch := s.channel(scope)
	if ch.outage.down() {
		return s.local.Minutes(ctx, scope, back)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	if err := ch.fold(ctx); err != nil {
		return time.Time{}, nil, err
	}
	return s.engine.Minutes(ctx, scope, back)
}

// Drops implements [Limiter].
func (s *Shared) Drops(ctx context.Context, scope Scope, before string, most int) ([]Drop, error) {
	ch := s.channel(scope)
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	if !ch.outage.down() {
		if err := ch.fold(ctx); err != nil {
			return nil, err
		}
	}
	return s.engine.Drops(ctx, scope, before, most)
}

// Warming implements [Limiter]. While Redis is away, nothing is known of it.
func (s *Shared) Warming(ctx context.Context, scope Scope, tiers []Tier) ([]time.Duration, error) {
	if s.channel(scope).outage.down() {
		return make([]time.Duration, len(tiers)), nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.engine.Warming(ctx, scope, tiers)
}

// Ping implements [Limiter].
func (s *Shared) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.engine.Ping(ctx)
}

// Durable implements [Limiter]. It is about the engine: a [Decision] says whether it was the fallback's.
func (s *Shared) Durable() bool { return s.engine.Durable() }
