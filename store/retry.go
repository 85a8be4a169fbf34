package store

import (
	"cmp"
	"time"
)

// SendState is what is known of an attempt to post a message.
type SendState string

// The states after an attempt.
const (
	NotPosted   SendState = "not-posted" // the message certainly is not in Slack
	MaybePosted SendState = "unknown"    // nobody knows whether it is
	NotFound    SendState = "looked"     // Slack was searched, and it was not found
	SendAgain   SendState = "again"      // it was not found, and is to be sent once more
)

// What waits after a failed attempt.
const (
	ChannelWaits = "channel" // nothing is sent
	EditsWait    = "edits"   // nothing is edited
	EntryWaits   = "entry"   // only this extra; a message always makes its channel wait
)

// RetryPlan is what [Store.Retry] does with an entry and its channel. The zero value tries again at once.
//
//	plan := store.RetryPlan{Wait: 30 * time.Second, Reason: "rate_limited"}
type RetryPlan struct {
	Wait   time.Duration // 0 = no wait
	Waits  string        // what waits: ChannelWaits, EditsWait or EntryWaits; "" = ChannelWaits
	Reason string        // why, for operators and metrics
	Fault  bool          // the entry itself may be the cause: count it towards burying it
	State  SendState     // "" = NotPosted
}

// WaitsOrDefault returns Waits, or its default.
func (p RetryPlan) WaitsOrDefault() string { return cmp.Or(p.Waits, ChannelWaits) }

// StateOrDefault returns State, or its default.
func (p RetryPlan) StateOrDefault() string { return string(cmp.Or(p.State, NotPosted)) }
