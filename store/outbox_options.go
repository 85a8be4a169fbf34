package store

import (
	"time"
)

// MaxDelayed is how many categories of what is delayed are asked for at once.
const MaxDelayed = 64

// maxDelayedBytes is after how many bytes of them no more are asked for.
const MaxDelayedBytes = 256 << 10

// putFor is how long the id of a [Outbox.Put] is remembered.
const AppendDedupe = 24 * time.Hour

// Options are what a store on Redis and one in memory have in common.
type Options struct {
	// Dedupe is how long an admitted id is remembered. Default [DefaultDedupe].
	Dedupe time.Duration
	// Owner names this sender; it must be unique to the engine: the numbers of its claims begin with it.
	Owner string
	// Lease is how long a claim holds the channel. Default 10 s.
	Lease time.Duration
	// DeadLetters is how many a channel keeps. Default 1,000; the oldest go first.
	DeadLetters int64
}

// WithDefaults fills in what is not set.
func (o Options) WithDefaults() Options {
	if o.Dedupe == 0 {
		o.Dedupe = DefaultDedupe
	}
	if o.Lease == 0 {
		o.Lease = 10 * time.Second
	}
	if o.DeadLetters == 0 {
		o.DeadLetters = 1000
	}
	return o
}
