package store

import (
	"time"
)

// How a message ended, by the names of the [Ledger].
const (
	Delivered = "delivered"
	Failed    = "failed"
	Expired   = "expired"
)

// OutageResult is what happened to a message that a replica admitted while the store was away. [Store.Restore] adds it to
// the store; lua/restore.lua reads the JSON. Ages are microseconds before the moment at which the result was made; see
// [OutageResult.After].
type OutageResult struct {
	Age      int64  `json:"age,omitempty"`    // since the admission
	Result   string `json:"result,omitempty"` // Delivered, Failed or Expired; "" = the message waits
	Attempts int64  `json:"attempts,omitempty"`

	// Of a message that waits.
	Faults       int64  `json:"faults,omitempty"` // attempts that may have failed through the message itself
	FirstAttempt int64  `json:"sent,omitempty"`   // age of the first attempt; 0 = the message certainly is not in Slack
	LastAttempt  int64  `json:"tried,omitempty"`  // age of the last one
	Lookups      int64  `json:"looked,omitempty"` // how often Slack was searched for it since
	SendAgain    bool   `json:"again,omitempty"`  // it was not found, and is to be sent once more
	Name         string `json:"name,omitempty"`   // see [Entry.PostedAs]; set where the message may be in Slack

	// Of a message that was delivered: where it is in Slack. Incoming webhooks do not return it.
	Channel string `json:"channel,omitempty"`
	TS      string `json:"ts,omitempty"`

	// Of a message that failed.
	Reason          string `json:"reason,omitempty"` // one of the notifier's reasons
	Answer          string `json:"answer,omitempty"` // Slack's last answer
	KeepDeadLetters int64  `json:"keep,omitempty"`   // how many dead letters the channel keeps
	MaybePosted     bool   `json:"shown,omitempty"`  // it is unknown whether the message is in Slack
}

// After returns the result with its ages counted from d later.
func (r OutageResult) After(d time.Duration) OutageResult {
	for _, age := range []*int64{&r.Age, &r.FirstAttempt, &r.LastAttempt} {
		if *age > 0 {
			*age += d.Microseconds()
		}
	}
	return r
}

// KeepsSlot reports whether the message keeps its units: one that certainly is not in Slack, and never will be, does not.
func (r OutageResult) KeepsSlot() bool {
	return r.Result != Expired && (r.Result != Failed || r.MaybePosted)
}

// AgedResult is a result, and when it was made, by this process's clock.
type AgedResult struct {
	OutageResult
	At time.Time
}
