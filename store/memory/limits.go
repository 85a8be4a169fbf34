package memory

import (
	"slackrelay/ratelimit"
)

// stateOf returns a copy of the state of a level, to be kept once something was spent: a refusal changes nothing.
func stateOf(tx *Tx, level *ratelimit.Level) ratelimit.State { return level.State(tx.look(level.Key)) }
