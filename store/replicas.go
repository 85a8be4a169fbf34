package store

import (
	"time"
)

// Heartbeat announces that a replica is alive, or that it ended, and which windows its levels have.
type Heartbeat struct {
	Replica string        // unique to one process
	TTL     time.Duration // how long the replica counts as alive
	Ended   bool          // the replica ends: it counts as alive no more
	Digest  string        // a hash of Text; "" = the replica announces no windows
	Text    string        // the windows of its levels; "" = the store has it already
	Known   []string      // the digests whose texts the replica has
}

// HeartbeatReply is what the store knows of the replicas.
type HeartbeatReply struct {
	Alive       int64             // how many replicas are alive
	Epoch       string            // changes only when the store lost its data
	TextMissing bool              // the store has no text for the heartbeat's digest, and did not store the digest
	Others      map[string]string // digest = text of the other replicas' windows; "" = the replica has the text
}

// MergeID identifies what a replica adds to the store, so that a repeat changes nothing.
type MergeID struct {
	Replica  string
	Sequence int64 // rises with each call of the replica
}

// LocalCounts are events that a replica dropped by itself, without the store.
type LocalCounts struct {
	Totals          map[string]int64 // by the JSON names of [Ledger]
	Categories      map[string]int64 // dropped events by category
	LearnCategories bool             // the categories count as attempted, for first notices with Auto
	DigestCounts    map[string]int64 // for the next digest, keyed as [Digest.Counts] is
	Drops           []Drop           // for the log of drops, oldest first
	KeepDrops       int64            // how many drops the channel's log keeps
}
