package ratelimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Limiter decides requests, 1 to [MaxBatch] in a call, and returns a decision for each. The limiter of package
// ratelimit/multi is one, and package store makes one of a store and a channel.
type Limiter interface {
	// Admit decides requests, each in the light of those before it, and commits those that pass.
	Admit(ctx context.Context, requests []Request) ([]Decision, error)
	// Peek decides each request by itself, and spends and counts nothing.
	Peek(ctx context.Context, requests []Request) ([]Decision, error)
}

// maxWait bounds one sleep of Wait, so that it sees a reset or a raised limit.
const maxWait = time.Minute

// Wait blocks until the request is admitted, or is a duplicate of one that was. It peeks until the request would fit, and
// only then asks for admission: a single waiter counts no drops. When several peek at the same moment and ask for the same
// slot, each that comes too late counts one drop. Sleeps are jittered, so that they do not end at the same moment. Wait
// returns the context's error when that ends, and a [LimitedError] when the request can never fit.
func Wait(ctx context.Context, limiter Limiter, request Request) error {
	for {
		decisions, err := limiter.Peek(ctx, []Request{request})
		if err == nil && len(decisions[0].Refused) == 0 {
			decisions, err = limiter.Admit(ctx, []Request{request})
		}
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		d := &decisions[0]
		if len(d.Refused) == 0 {
			return nil
		}
		if d.RetryAfter < 0 { // no level that opens with time
			return d.limited()
		}
		if err := Sleep(ctx, jittered(d.RetryAfter)); err != nil {
			return fmt.Errorf("wait: %w: %w", err, d.limited())
		}
	}
}

// Do runs f if and only if the request is admitted; otherwise it returns a [LimitedError]. For a duplicate it returns nil,
// and does not run f again.
func Do(ctx context.Context, limiter Limiter, request Request, f func(ctx context.Context) error) error {
	decisions, err := limiter.Admit(ctx, []Request{request})
	if err != nil {
		return fmt.Errorf("do: %w", err)
	}
	switch d := &decisions[0]; {
	case len(d.Refused) > 0:
		return d.limited()
	case d.Duplicate:
		return nil
	default:
		return f(ctx)
	}
}

// jittered returns d, at most maxWait, plus a random time of up to a tenth of it, or up to 10 ms if that is longer.
func jittered(d time.Duration) time.Duration {
	d = min(d, maxWait)
	return d + rand.N(max(d/10, 10*time.Millisecond)) //nolint:gosec // jitter is no secret
}

// Sleep waits for a time, or until the context ends, and then returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
