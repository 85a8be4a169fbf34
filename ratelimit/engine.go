package ratelimit

import (
	"context"
	"time"
)

// engine decides, and takes in what a replica decided by itself. It is what [Shared] puts its cache and its
// fallback in front of.
type engine interface {
	Limiter
	decide(ctx context.Context, m mode, scope Scope, requests []Request) (answer, error)
	// restore takes in what was admitted while the engine was away, and what became of it, whatever the limits say now.
	// A request without a past waits, or where it has no Enqueue, was delivered. A repeat of a fold changes nothing.
	restore(ctx context.Context, scope Scope, requests []Request, f fold) error
	// fold counts what was dropped elsewhere. A repeat of a fold changes nothing.
	fold(ctx context.Context, scope Scope, f fold, drops drops) error
	// heartbeat says that a replica lives, or ended, and tells of those that do.
	heartbeat(ctx context.Context, beat beat) (pulse, error)
	// memory is how many bytes are used where a channel is kept, and how many may be; 0 = as many as there are.
	memory(ctx context.Context, scope Scope) (used, most int64, err error)
}

// beat is a sign of life.
type beat struct {
	replica string
	keep    time.Duration // how long it counts
	ended   bool
	digest  string   // of the windows that it counts in; "" = it says nothing of them
	text    string   // these; "" = they were told before
	known   []string // the digests whose texts it has
}

// pulse is what the engine knows of the replicas.
type pulse struct {
	alive   int64
	epoch   string            // changes only where the engine lost its data
	missing bool              // the text of the beat's digest is not there: nothing of it was noted
	others  map[string]string // the digests of the other replicas, and their texts; "" = that is known
}

// drops are counts that a replica made by itself.
type drops struct {
	totals     map[string]int64 // of the ledger
	categories map[string]int64 // dropped, by category
	learn      bool             // the categories count as attempted (first notices, auto)
	noted      map[string]int64 // for the digest, as in lua/fold.lua
	kept       []Drop           // for the record, oldest first
	keep       int64            // how many the channel's record keeps
}

// answer is what an engine says to a batch.
type answer struct {
	now       int64 // the engine's time, microseconds
	stepped   int64 // how far its clock went back, microseconds; 0 = it did not
	decisions []Decision
	closed    []closure
	numbers   []int64 // of the outbox entries of what was admitted; of the engine Memory only
}

// closure says how long one unit certainly cannot fit a level.
type closure struct {
	level  *Level
	until  time.Duration // from now on
	window int           // of the level, from 0
}
