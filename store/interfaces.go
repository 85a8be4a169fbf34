package store

import (
	"context"

	"slackrelay/ratelimit"
)

// Limiter is the part of a [Store] that decides and counts.
type Limiter interface {
	Decider
	Counts
	Availability
	Refund(ctx context.Context, channel Channel, request Request) error
	Reset(ctx context.Context, levels ...ratelimit.Level) error
}

// Outbox is the part of a [Store] that hands out what was admitted.
type Outbox interface {
	Queue
	DeadLetters
}

// Engine is a [Limiter] with what its replicas report to it.
type Engine interface {
	Limiter
	Replication
}
