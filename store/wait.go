package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"slackrelay/ratelimit"
)

// Usage is how full one window of a level is.
type Usage struct {
	Level      string
	Window     ratelimit.Window
	Used       int64
	RetryAfter time.Duration // until one more unit fits the level; 0 = now, negative = never
}

// Decider is the part of a [Limiter] that decides: what [Wait] and [Do] need. The limiter of package multi is one too.
type Decider interface {
	Peeker
	Admit(ctx context.Context, scope Channel, requests []Request) ([]Decision, error)
}

// Peeker decides requests without spending or counting anything; see [Limiter.Peek].
type Peeker interface {
	Peek(ctx context.Context, scope Channel, requests []Request) ([]Decision, error)
}

// UsageOf reads how full levels are, window by window, in calls of at most [MaxBatch]. It spends nothing.
func UsageOf(ctx context.Context, l Peeker, scope Channel, levels []ratelimit.Level) ([]Usage, error) {
	var all []Usage
	for len(levels) > 0 {
		n := min(len(levels), MaxBatch)
		requests := make([]Request, n)
		for i, level := range levels[:n] {
			requests[i] = Request{ID: "usage", Levels: []ratelimit.Level{level}}
		}
		decisions, err := l.Peek(ctx, scope, requests)
		if err != nil {
			return nil, fmt.Errorf("read usage: %w", err)
		}
		for _, d := range decisions {
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

// limited is the refusal as an error.
func (d Decision) limited() *LimitedError {
	return &LimitedError{Level: d.Level, Window: d.Window, RetryAfter: d.RetryAfter}
}

// maxWait bounds one sleep of Wait, so that a reset or a raised limit is noticed.
const maxWait = time.Minute

// Wait blocks until the request is admitted, or was admitted before. It looks (see [Limiter.Peek]) until the
// request would fit and asks only then. One that waits alone counts no drops; of several that look at the same moment
// and ask for the same slot, those that come too late count one each. Sleeps are jittered, so that they do not come all
// at once. It ends with the context's error, or with a [LimitedError] where the request can never fit.
func Wait(ctx context.Context, l Decider, scope Channel, request Request) error {
	for {
		decisions, err := l.Peek(ctx, scope, []Request{request})
		if err == nil && decisions[0].Outcome != Dropped && decisions[0].Outcome != Never {
			decisions, err = l.Admit(ctx, scope, []Request{request})
		}
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		d := decisions[0]
		if !d.Outcome.Drops() {
			return nil
		}
		if d.Outcome.Reason() != "" { // no level that opens by itself
			return d.limited()
		}
		if err := Sleep(ctx, jittered(d.RetryAfter)); err != nil {
			return fmt.Errorf("wait: %w: %w", err, d.limited())
		}
	}
}

// Do runs f if and only if the request is admitted; otherwise it returns a [LimitedError]. A duplicate is not
// run again, and is no error.
func Do(ctx context.Context, l Decider, scope Channel, request Request, f func(ctx context.Context) error) error {
	decisions, err := l.Admit(ctx, scope, []Request{request})
	if err != nil {
		return fmt.Errorf("do: %w", err)
	}
	switch d := decisions[0]; d.Outcome {
	case Admitted:
		return f(ctx)
	case Duplicate:
		return nil
	default:
		return d.limited()
	}
}

// jittered adds up to a tenth, and at least up to 10 ms.
func jittered(d time.Duration) time.Duration {
	d = min(d, maxWait)
	return d + rand.N(max(d/10, 10*time.Millisecond)) //nolint:gosec // jitter is no secret
}

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
