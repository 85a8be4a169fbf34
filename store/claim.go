package store

import (
	"errors"
	"time"
)

// Pace is how fast a channel sends: one message per Every, at most Burst at once.
type Pace struct {
	Every time.Duration // 0 = no pace
	Burst int64         // 1 or more
}

// Terms are what a channel's messages are sent under.
type Terms struct {
	Pace Pace
	// TTL is how old a message may be when it is sent; 0 = any age.
	TTL time.Duration
	// Backlog is the key of a level of the strategy backlog, which a message leaves when it leaves the outbox; "" = there
	// is none.
	Backlog string
	// Settle is how long after an attempt of which nobody knows whether it arrived it can be looked up in Slack;
	// 0 = it cannot be.
	LookupDelay time.Duration
	Digest      DigestTerms
}

// DigestTerms say when a digest is due.
type DigestTerms struct {
	Interval time.Duration // at most one in that time; 0 = none
	// Every is the time between two edits of a digest that is posted soon after the first drop, a third of it later; 0 =
	// one post at the interval's end.
	EditEvery time.Duration
	Minimum   int64 // how much it must have to tell
}

// check finds terms that make no sense.
func (t Terms) Check() error {
	if t.Pace.Every < 0 || t.Pace.Burst < 1 {
		return errors.New("a pace of 0 or more and burst of 1 or more are needed")
	}
	return nil
}

// State says what a claim found.
type ClaimState int

// The states, by their codes in lua/claim.lua.
const (
	Empty          ClaimState = iota // nothing waits
	Claimed                          // Entry may be sent now
	Leased                           // another sender has the lease
	Paused                           // the channel is paused
	Paced                            // the pace allows nothing yet
	Stale                            // Entry is claimed, and older than its time to live
	DigestDue                        // [Outbox.Digest] has something to do
	PostReady                        // on a look: something may be posted now
	EditReady                        // on a look: something may be edited now
	AwaitingLookup                   // the next entry may have been posted, and it is too early to look
)

// Claim is the answer to the wish to send.
type Claim struct {
	State ClaimState
	// Wait is how long the state lasts at most; 0 where it does not end by itself.
	Wait time.Duration
	// Entry is set when Claimed or Stale.
	Entry Entry
	// Until is when the lease ends, by this process's monotonic clock, reckoned from before the call; it
	// is set when Claimed or Stale. A send must not outlast it.
	Until time.Time
}
