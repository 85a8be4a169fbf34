package storetest

import (
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

// PhaseOf is where the grid of a level's windows begins, for the oracle.
func PhaseOf(level ratelimit.Level) int64 { return level.GridPhase() }

// NewSharedOn is NewShared on either engine.
func NewSharedOn(l store.Limiter, opts replica.Options) *replica.Limiter {
	e, ok := l.(store.Engine)
	if !ok {
		panic("not an engine")
	}
	return replica.New(e, opts)
}
