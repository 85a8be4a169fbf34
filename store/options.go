package store

import (
	"time"

	"slackrelay/ratelimit"
)

// Options are what both stores have in common. The zero value is valid for one sender:
//
//	options := store.Options{Owner: "relay-1", Lease: 10 * time.Second}
type Options struct {
	// Dedupe is how long an admitted id is remembered. Default [ratelimit.DefaultDedupe].
	Dedupe time.Duration
	// Owner names this sender in leases. It must be unique to one process, because the numbers of its claims begin with it.
	Owner string
	// Lease is how long a claim reserves the channel for this sender. Default 10 s.
	Lease time.Duration
	// DeadLetters is how many dead letters a channel keeps; the oldest are deleted first. Default 1,000.
	DeadLetters int64
	// Problems is how many documents a channel keeps. Default 10,000.
	Problems int64
}

// WithDefaults returns the options with defaults in place of zero values.
func (o Options) WithDefaults() Options {
	if o.Dedupe == 0 {
		o.Dedupe = ratelimit.DefaultDedupe
	}
	if o.Lease == 0 {
		o.Lease = 10 * time.Second
	}
	if o.DeadLetters == 0 {
		o.DeadLetters = 1000
	}
	if o.Problems == 0 {
		o.Problems = 10_000
	}
	return o
}
