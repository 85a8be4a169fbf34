// Package outbox is the durable queue between admission and Slack.
//
// Entries are appended by the limiter's admit step (package ratelimit) and leave in the order of their
// admission, per channel. One sender at a time holds a channel: a claim takes a lease, and settling is
// refused once another sender holds it. An entry stays in the outbox until it is settled, so that what a
// dead sender held goes to the next one when its lease ends. Claims never block. Pace and pauses are kept
// here, with Redis's clock, so that they hold over all replicas. What an entry says is opaque.
//
// There are two engines behind [Outbox]: [Redis], and [Memory] for a single process without Redis.
package outbox

import (
	"context"
	"errors"
	"time"

	"slackrelay/lua"
)

// Channel says whose outbox, and in which limit group its keys are.
type Channel struct {
	Group string
	Name  string
	// Backlog is the key of a level of the strategy backlog, which an entry leaves when it is settled for
	// good; "" = there is none.
	Backlog string
}

// settled are the keys of a settling script, with the backlog where there is one.
func (c Channel) settled(keys ...string) []string {
	if c.Backlog != "" {
		keys = append(keys, c.Backlog)
	}
	return keys
}

func (c Channel) keys() lua.Keys { return lua.KeysOf(c.Group, c.Name) }

// Pace is how fast a channel sends: one message per Every, at most Burst at once.
type Pace struct {
	Every time.Duration // 0 = no pace
	Burst int64         // 1 or more
}

// State says what a claim found.
type State int

// The states, by their codes in lua/claim.lua.
const (
	Empty   State = iota // nothing waits
	Claimed              // Entry may be sent now
	Held                 // another sender has the lease
	Paused               // the channel is paused
	Paced                // the pace does not allow another message yet
)

// Claim is the answer to the wish to send.
type Claim struct {
	State State
	// Wait is how long the state lasts at most; 0 for Empty and Claimed.
	Wait time.Duration
	// Entry is set when Claimed.
	Entry Entry
	// Until is when the lease ends, by this process's monotonic clock, reckoned from before the call; it
	// is set when Claimed. A send must not outlast it.
	Until time.Time
}

// Entry is one thing that waits.
type Entry struct {
	Number   int64         // its place in the order of the channel
	Kind     string        // "message"
	Payload  []byte        // what was enqueued
	Attempts int64         // how often it was claimed before
	Faults   int64         // how many of those failed through what may be its own fault
	Age      time.Duration // since its admission
}

// Pausing is what Retry does to the channel.
type Pausing struct {
	Wait   time.Duration // how long nobody sends; 0 = not at all
	Reason string        // why, for people and metrics
	Fault  bool          // the entry itself may be at fault: count it
}

// Outbox hands out what waits.
type Outbox interface {
	// Claim takes the oldest entry of the channel if this sender may send it now. It never blocks.
	Claim(ctx context.Context, channel Channel, pace Pace) (Claim, error)
	// Ack deletes an entry that reached Slack and counts it as delivered. A repeat is harmless.
	Ack(ctx context.Context, channel Channel, number int64) error
	// Retry leaves an entry in its place, pauses the channel for every sender, and gives up the lease.
	Retry(ctx context.Context, channel Channel, number int64, pausing Pausing) error
	// Bury moves an entry that can never reach Slack to the dead letters and counts it as failed.
	// A repeat is harmless.
	Bury(ctx context.Context, channel Channel, number int64, death Death) error
	// Release gives up the lease, if this sender has it.
	Release(ctx context.Context, channel Channel) error
}

// Death says why an entry was buried.
type Death struct {
	Reason string // one of the notifier's reasons
	Answer string // the last thing Slack said
}

// ErrLeaseLost is returned when another sender holds the lease: nothing was changed, and the entry may be
// sent by that other sender too.
var ErrLeaseLost = errors.New("another sender holds the lease")

// Options configure an engine.
type Options struct {
	// Owner names this sender; it must be unique to the process and its start.
	Owner string
	// Lease is how long a claim holds the channel. Default 10 s.
	Lease time.Duration
	// DeadLetters is how many a channel keeps. Default 1,000; the oldest go first.
	DeadLetters int64
	// PaceFactor slows the pace down, where several senders each keep to it by themselves; of the engine
	// Memory only. Default 1.
	PaceFactor func() int64
}

func (o Options) paceFactor() int64 {
	if o.PaceFactor == nil {
		return 1
	}
	return max(1, o.PaceFactor())
}

// WithDefaults fills in what is not set.
func (o Options) WithDefaults() Options {
	if o.Lease == 0 {
		o.Lease = 10 * time.Second
	}
	if o.DeadLetters == 0 {
		o.DeadLetters = 1000
	}
	return o
}
