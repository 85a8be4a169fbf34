package memory

import (
	"context"
	"time"

	"slackrelay/store"
)

// Memory is the engine of a single process without Redis. It decides exactly as [Redis] does and shares
// its Store with the in-memory outbox. It is not durable.
type Limiter struct {
	store  *Store
	dedupe int64 // microseconds
	By     store.DecidedBy
}

var _ store.Engine = (*Limiter)(nil)

// NewMemory makes a Memory engine. A dedupe time of 0 means 1 h.
func NewLimiter(data *Store, dedupe time.Duration) *Limiter {
	if dedupe == 0 {
		dedupe = store.DefaultDedupe
	}
	return &Limiter{store: data, dedupe: dedupe.Microseconds(), By: store.ByMemory}
}

// Durable is false: what is pending ends with the process.
func (*Limiter) Durable() bool { return false }

// Ping always succeeds.
func (*Limiter) Ping(context.Context) error { return nil }
