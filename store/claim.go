package store

import (
	"errors"
	"time"
)

// Terms are the conditions under which a channel's entries are sent. The zero value is not valid: Pace.Burst is needed.
//
//	terms := store.Terms{Pace: store.Pace{Every: time.Second, Burst: 3}, TTL: time.Hour}
type Terms struct {
	Pace Pace
	// TTL is how old a message may be when it is sent; 0 = any age.
	TTL time.Duration
	// Backlog is the key of a level of strategy backlog, which a message leaves together with the queue; "" = none.
	Backlog string
	// LookupDelay is how long after an attempt with an unknown outcome Slack can be searched for the message; 0 = it
	// cannot be searched.
	LookupDelay time.Duration
	Digest      DigestTerms
}

// Pace is how fast a channel sends: one message per Every, and at most Burst at once.
type Pace struct {
	Every time.Duration // 0 = no pace
	Burst int64         // 1 or more
}

// Check returns an error if the pace is not valid.
func (t Terms) Check() error {
	if t.Pace.Every < 0 || t.Pace.Burst < 1 {
		return errors.New("a pace of 0 or more and burst of 1 or more are needed")
	}
	return nil
}

// ClaimState is what a claim found. The values are the codes of lua/claim.lua.
//
//	state           meaning                                                    Wait  Entry
//	Empty           no entry is due                                            -     -
//	Claimed         Entry may be sent now; this sender has the lease           -     yes
//	Leased          another sender has the lease                               yes   -
//	Paused          the channel, or all edits in it, are paused                yes   -
//	Paced           the pace allows no message yet                             yes   -
//	Stale           as Claimed, but Entry is a message older than its TTL      -     yes
//	DigestDue       a digest is due: call Digest, then claim again             -     -
//	PostReady       with look: a message, or an extra, could be claimed        -     -
//	EditReady       with look: an edit could be claimed                        -     -
//	AwaitingLookup  the next entry may have been posted, and it is too early   yes   -
//	                to search Slack for it
//
// An empty queue and a pause of the channel end this sender's own lease, so that any replica can send the next admission
// at once.
type ClaimState int

// The states of a claim; see [ClaimState].
const (
	Empty ClaimState = iota
	Claimed
	Leased
	Paused
	Paced
	Stale
	DigestDue
	PostReady
	EditReady
	AwaitingLookup
)

// Valid reports whether s is a known state.
func (s ClaimState) Valid() bool { return s >= Empty && s <= AwaitingLookup }

// HasEntry reports whether a claim in this state carries an entry.
func (s ClaimState) HasEntry() bool { return s == Claimed || s == Stale }

// Claim is the result of [Store.Claim].
type Claim struct {
	State ClaimState
	// Wait is how long the state lasts at most; 0 where time alone does not change it.
	Wait time.Duration
	// Entry is set when State is Claimed or Stale.
	Entry Entry
	// More is whether another message or extra waits behind Entry.
	More bool
	// Until is when the lease ends, by this process's monotonic clock, counted from before the call. A send must end
	// before it. It is set when State is Claimed or Stale.
	Until time.Time
}
