package ratelimit

// PhaseOf is where the grid of a level's windows begins, for the oracle.
func PhaseOf(level Level) int64 { return level.phase() }
