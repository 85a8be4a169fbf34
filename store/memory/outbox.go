package memory

import (
	"slackrelay/store"
)

// Memory is the engine of a single process without Redis. It shares its Store with the in-memory limiter,
// and follows the scripts step by step. The waits it answers are in wall time.
type Outbox struct {
	store *Store
	opts  store.Options
	calls store.Calls
}

var (
	_ store.Outbox = (*Outbox)(nil)
	_ store.Budget = (*Outbox)(nil)
)

// NewMemory makes a Memory engine.
func NewOutbox(data *Store, opts store.Options) *Outbox {
	return &Outbox{store: data, opts: opts.WithDefaults()}
}

// pacing is when the bucket of a pace or a budget is empty again.
type pacing struct{ emptyAt int64 }
