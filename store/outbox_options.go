package store

import (
	"time"
)

// MaxDelayed is how many categories of what is delayed are asked for at once.
const MaxDelayed = 64

// maxDelayedBytes is after how many bytes of them no more are asked for.
const MaxDelayedBytes = 256 << 10

// putFor is how long the id of a [Outbox.Put] is remembered.
const PutFor = 24 * time.Hour

// Options configure an engine.
type Options struct {
	// Owner names this sender; it must be unique to the engine: the numbers of its claims begin with it.
	Owner string
	// Lease is how long a claim holds the channel. Default 10 s.
	Lease time.Duration
	// DeadLetters is how many a channel keeps. Default 1,000; the oldest go first.
	DeadLetters int64
	// Returned has messages remembered until [Memory.TakeBack], with what became of them; of the engine Memory only.
	Returned bool
	// PaceFactor slows the pace down, and divides the budgets, where several senders each keep to them by themselves;
	// of the engine Memory only. Default 1.
	PaceFactor func() int64
}

func (o Options) Factor() int64 {
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
