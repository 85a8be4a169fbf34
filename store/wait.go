package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"slackrelay/ratelimit"
)

// Peeker reads how full levels are.
type Peeker interface {
	Peek(ctx context.Context, channel Channel, requests []Request) (Answer, error)
}

// Decider decides requests. A [Store] is one, and the limiters of packages ratelimit/replica and ratelimit/multi are.
type Decider interface {
	Peeker
	Admit(ctx context.Context, channel Channel, requests []Request) (Answer, error)
}

// Usage is how full one window of a level is.
type Usage struct {
	Level      string
	Window     ratelimit.Window
	Used       int64         // units
	RetryAfter time.Duration // until one more unit fits the level; 0 = now, negative = never
}

// UsageOf returns how full levels are, by window, in calls of at most [MaxBatch] requests. It spends nothing.
func UsageOf(ctx context.Context, peeker Peeker, channel Channel, levels []ratelimit.Level) ([]Usage, error) {
	var all []Usage
	for len(levels) > 0 {
		n := min(len(levels), MaxBatch)
		requests := make([]Request, n)
		for i, level := range levels[:n] {
			requests[i] = Request{ID: "usage", Levels: []ratelimit.Level{level}}
		}
		answer, err := peeker.Peek(ctx, channel, requests)
		if err != nil {
			return nil, fmt.Errorf("read usage: %w", err)
		}
		for _, d := range answer.Decisions {
			all = append(all, d.usage()...)
		}
		levels = levels[n:]
	}
	return all, nil
}

func (d Decision) usage() []Usage {
	usage := make([]Usage, len(d.Remaining))
	for i, r := range d.Remaining {
		usage[i] = Usage{Level: r.Level, Window: r.Window, Used: r.Used}
		if r.Free == 0 {
			usage[i].RetryAfter = d.RetryAfter
		}
	}
	return usage
}

// limited returns the refusal as an error.
func (d Decision) limited() *LimitedError {
	return &LimitedError{Level: d.Level, Window: d.Window, RetryAfter: d.RetryAfter}
}

// maxWait bounds one sleep of Wait, so that it sees a reset or a raised limit.
const maxWait = time.Minute

// Wait blocks until the request is admitted, or is a duplicate of one that was. It peeks until the request would fit, and
// only then asks for admission: a single waiter counts no drops. When several peek at the same moment and ask for the same
// slot, each that comes too late counts one drop. Sleeps are jittered, so that they do not end at the same moment. Wait
// returns the context's error when that ends, and a [LimitedError] when the request can never fit.
func Wait(ctx context.Context, limiter Decider, channel Channel, request Request) error {
	for {
		answer, err := limiter.Peek(ctx, channel, []Request{request})
		if err == nil && !answer.Decisions[0].Outcome.Drops() {
			answer, err = limiter.Admit(ctx, channel, []Request{request})
		}
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		d := answer.Decisions[0]
		if !d.Outcome.Drops() {
			return nil
		}
		if d.Outcome.Reason() != "" { // no level that opens with time
			return d.limited()
		}
		if err := Sleep(ctx, jittered(d.RetryAfter)); err != nil {
			return fmt.Errorf("wait: %w: %w", err, d.limited())
		}
	}
}

// Do runs f if and only if the request is admitted; otherwise it returns a [LimitedError]. For a duplicate it returns nil,
// and does not run f again.
func Do(ctx context.Context, limiter Decider, channel Channel, request Request, f func(ctx context.Context) error) error {
	answer, err := limiter.Admit(ctx, channel, []Request{request})
	if err != nil {
		return fmt.Errorf("do: %w", err)
	}
	switch d := answer.Decisions[0]; d.Outcome {
	case Admitted:
		return f(ctx)
	case Duplicate:
		return nil
	default:
		return d.limited()
	}
}

// jittered returns d, at most maxWait, plus a random time of up to a tenth of it, or up to 10 ms if that is longer.
func jittered(d time.Duration) time.Duration {
	d = min(d, maxWait)
	return d + rand.N(max(d/10, 10*time.Millisecond)) //nolint:gosec // jitter is no secret
}
