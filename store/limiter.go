package store

import (
	"context"
	"fmt"

	"slackrelay/ratelimit"
)

// Peeker reads how full levels are.
type Peeker interface {
	Peek(ctx context.Context, channel Channel, requests []Request) (Answer, error)
}

// Decider decides requests. A [Store] is one, and the limiter of package ratelimit/replica is.
type Decider interface {
	Peeker
	Admit(ctx context.Context, channel Channel, requests []Request) (Answer, error)
}

// UsageOf returns how full levels are, by window, in calls of at most [ratelimit.MaxBatch] requests. It spends nothing.
func UsageOf(ctx context.Context, peeker Peeker, channel Channel, levels []ratelimit.Level) ([]ratelimit.Usage, error) {
	var all []ratelimit.Usage
	for len(levels) > 0 {
		n := min(len(levels), ratelimit.MaxBatch)
		requests := make([]Request, n)
		for i, level := range levels[:n] {
			requests[i] = Request{Request: ratelimit.Request{ID: "usage", Levels: []ratelimit.Level{level}}}
		}
		answer, err := peeker.Peek(ctx, channel, requests)
		if err != nil {
			return nil, fmt.Errorf("read usage: %w", err)
		}
		for i := range answer.Decisions {
			all = append(all, answer.Decisions[i].Usage()...)
		}
		levels = levels[n:]
	}
	return all, nil
}

// LimiterOf returns the limiter of one channel, for what needs its limits only: [ratelimit.Wait] and [ratelimit.Do], for
// example. The ledger counts what it admits, and nothing is queued: use a channel in which nothing else is sent.
func LimiterOf(decider Decider, channel Channel) ratelimit.Limiter {
	return channelLimiter{decider, channel}
}

// channelLimiter implements [ratelimit.Limiter] with a channel of a store.
type channelLimiter struct {
	decider Decider
	channel Channel
}

// Admit implements [ratelimit.Limiter].
func (l channelLimiter) Admit(ctx context.Context, requests []ratelimit.Request) ([]ratelimit.Decision, error) {
	return l.decide(ctx, l.decider.Admit, requests)
}

// Peek implements [ratelimit.Limiter].
func (l channelLimiter) Peek(ctx context.Context, requests []ratelimit.Request) ([]ratelimit.Decision, error) {
	return l.decide(ctx, l.decider.Peek, requests)
}

func (l channelLimiter) decide(ctx context.Context, decide DecideFunc, requests []ratelimit.Request) ([]ratelimit.Decision, error) {
	asked := make([]Request, len(requests))
	for i, r := range requests {
		asked[i].Request = r
	}
	answer, err := decide(ctx, l.channel, asked)
	if err != nil {
		return nil, err
	}
	decisions := make([]ratelimit.Decision, len(answer.Decisions))
	for i, d := range answer.Decisions {
		decisions[i] = d.Decision
	}
	return decisions, nil
}
