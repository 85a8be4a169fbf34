package store

import (
	"context"
	"time"

	"slackrelay/ratelimit"
)

// engine decides, and takes in what a replica decided by itself. It is what [Shared] puts its cache and its
// fallback in front of.
type Engine interface {
	Limiter
	Decide(ctx context.Context, m Mode, scope Channel, requests []Request) (Answer, error)
	// restore takes in what was admitted while the engine was away, and what became of it, whatever the limits say now.
	// A request without a past waits, or where it has no Enqueue, was delivered. A repeat of a fold changes nothing.
	Restore(ctx context.Context, scope Channel, requests []Request, f MergeID) error
	// fold counts what was dropped elsewhere. A repeat of a fold changes nothing.
	MergeCounts(ctx context.Context, scope Channel, f MergeID, drops LocalCounts) error
	// heartbeat says that a replica lives, or ended, and tells of those that do.
	Heartbeat(ctx context.Context, beat Heartbeat) (HeartbeatReply, error)
	// memory is how many bytes are used where a channel is kept, and how many may be; 0 = as many as there are.
	Memory(ctx context.Context, scope Channel) (used, most int64, err error)
}

// beat is a sign of life.
type Heartbeat struct {
	Replica string
	TTL     time.Duration // how long it counts
	Ended   bool
	Digest  string   // of the windows that it counts in; "" = it says nothing of them
	Text    string   // these; "" = they were told before
	Known   []string // the digests whose texts it has
}

// pulse is what the engine knows of the replicas.
type HeartbeatReply struct {
	Alive       int64
	Epoch       string            // changes only where the engine lost its data
	TextMissing bool              // the text of the beat's digest is not there: nothing of it was noted
	Others      map[string]string // the digests of the other replicas, and their texts; "" = that is known
}

// drops are counts that a replica made by itself.
type LocalCounts struct {
	Totals          map[string]int64 // of the ledger
	Categories      map[string]int64 // dropped, by category
	LearnCategories bool             // the categories count as attempted (first notices, auto)
	DigestCounts    map[string]int64 // for the digest, as in lua/merge_counts.lua
	Drops           []Drop           // for the record, oldest first
	KeepDrops       int64            // how many the channel's record keeps
}

// answer is what an engine says to a batch.
type Answer struct {
	Now       int64 // the engine's time, microseconds
	Stepped   int64 // how far its clock went back, microseconds; 0 = it did not
	Decisions []Decision
	Closed    []ClosedLevel
	Numbers   []int64 // of the outbox entries of what was admitted; of the engine Memory only
}

// closure says how long one unit certainly cannot fit a level.
type ClosedLevel struct {
	Level  *ratelimit.Level
	For    time.Duration // from now on
	Window int           // of the level, from 0
}

// Store is the state machine of all channels: one method for each script of package lua. The one on Redis is shared by
// all replicas; its twin in memory is for a single process.
type Store interface {
	Engine
	Outbox
	Budget
}
