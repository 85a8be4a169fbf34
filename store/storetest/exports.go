package storetest

import (
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// PhaseOf is where the grid of a level's windows begins, for the oracle.
func PhaseOf(level ratelimit.Level) int64 { return level.GridPhase() }

// NewSharedOn is NewShared on either engine.
func NewSharedOn(l store.Limiter, opts replica.Options) *replica.Limiter {
	s, ok := l.(replica.Store)
	if !ok {
		panic("not a store of replicas")
	}
	if opts.Fallback == nil {
		opts.Fallback = memory.New(memory.NewData(memory.DataOptions{}), memory.Options{
			Options: store.Options{Dedupe: opts.Dedupe}, DecidedBy: store.ByFallback,
		})
	}
	return replica.New(s, opts)
}
