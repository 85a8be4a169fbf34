package store

import (
	"time"
)

// How a message ended, by the names of the ledger.
const (
	Delivered = "delivered"
	Failed    = "failed"
	Expired   = "expired"
)

// Past is what became of a message that was admitted while Redis was away: mode "restore" of lua/admit.lua takes it in.
// Ages are microseconds until the moment at which it was made; see [Past.After].
type OutageResult struct {
	Age      int64  `json:"age,omitempty"`    // since its admission
	Result   string `json:"result,omitempty"` // Delivered, Failed or Expired; "" = it still waits
	Attempts int64  `json:"attempts,omitempty"`

	// Of one that waits. Sent and Tried are since the first and the last attempt; 0 = it certainly was not posted.
	Faults       int64  `json:"faults,omitempty"`
	FirstAttempt int64  `json:"sent,omitempty"`
	LastAttempt  int64  `json:"tried,omitempty"`
	Lookups      int64  `json:"looked,omitempty"`
	SendAgain    bool   `json:"again,omitempty"`
	Name         string `json:"name,omitempty"` // "<number>@<admitted at>" as its metadata says, where it may have been posted

	// Of one that was delivered: where it is in Slack; webhooks do not tell.
	Channel string `json:"channel,omitempty"`
	TS      string `json:"ts,omitempty"`

	// Of one that failed. Keep is how many dead letters the channel keeps.
	Reason          string `json:"reason,omitempty"`
	Answer          string `json:"answer,omitempty"`
	KeepDeadLetters int64  `json:"keep,omitempty"`
	MaybePosted     bool   `json:"shown,omitempty"` // it may have appeared all the same
}

// After is the same past, seen so much later.
func (p OutageResult) After(d time.Duration) OutageResult {
	for _, age := range []*int64{&p.Age, &p.FirstAttempt, &p.LastAttempt} {
		if *age > 0 {
			*age += d.Microseconds()
		}
	}
	return p
}

// Spent tells whether the message keeps its slot: one that certainly never appeared gives it back.
func (p OutageResult) KeepsSlot() bool {
	return p.Result != Expired && (p.Result != Failed || p.MaybePosted)
}

// returned is a past, and when it was made.
type AgedResult struct {
	OutageResult
	At time.Time
}
