package ratelimit

import (
	"context"
	"errors"
	"time"
)

// ByChannel sends some channels to engines of their own; what is about none, and every other channel, goes to
// the one it embeds.
type ByChannel struct {
	Limiter
	Engines map[string]Limiter
}

var _ Limiter = ByChannel{}

func (b ByChannel) of(scope Scope) Limiter {
	if engine, ok := b.Engines[scope.Channel]; ok {
		return engine
	}
	return b.Limiter
}

// Admit implements [Limiter].
func (b ByChannel) Admit(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
	return b.of(scope).Admit(ctx, scope, requests)
}

// Peek implements [Limiter].
func (b ByChannel) Peek(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
	return b.of(scope).Peek(ctx, scope, requests)
}

// Mute implements [Limiter].
func (b ByChannel) Mute(ctx context.Context, scope Scope, n int64) error {
	return b.of(scope).Mute(ctx, scope, n)
}

// Refund implements [Limiter].
func (b ByChannel) Refund(ctx context.Context, scope Scope, request Request) error {
	return b.of(scope).Refund(ctx, scope, request)
}

// Reset implements [Limiter]: a level does not say which engine it is of.
func (b ByChannel) Reset(ctx context.Context, levels ...Level) error {
	errs := []error{b.Limiter.Reset(ctx, levels...)}
	for _, engine := range b.Engines {
		errs = append(errs, engine.Reset(ctx, levels...))
	}
	return errors.Join(errs...)
}

// Report implements [Limiter].
func (b ByChannel) Report(ctx context.Context, scope Scope) (Report, error) {
	return b.of(scope).Report(ctx, scope)
}

// Categories implements [Limiter].
func (b ByChannel) Categories(ctx context.Context, scope Scope) ([]CategoryCounts, error) {
	return b.of(scope).Categories(ctx, scope)
}

// Minutes implements [Limiter].
func (b ByChannel) Minutes(ctx context.Context, scope Scope, back time.Duration) (time.Time, []MinuteCount, error) {
	return b.of(scope).Minutes(ctx, scope, back)
}

// Drops implements [Limiter].
func (b ByChannel) Drops(ctx context.Context, scope Scope, before string, most int) ([]Drop, error) {
	return b.of(scope).Drops(ctx, scope, before, most)
}

// Warming implements [Limiter].
func (b ByChannel) Warming(ctx context.Context, scope Scope, tiers []Tier) ([]time.Duration, error) {
	return b.of(scope).Warming(ctx, scope, tiers)
}
