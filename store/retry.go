package store

import (
	"time"
)

// Fate says whether a message that was tried appeared in Slack.
type SendState string

// The fates.
const (
	NotPosted   SendState = "not-posted" // certainly not
	MaybePosted SendState = "unknown"    // nobody knows
	NotFound    SendState = "looked"     // it was looked up, and not found
	SendAgain   SendState = "again"      // it was not found, and is to be sent once more
)

// Who waits after a failure.
const (
	ChannelWaits = "channel" // nothing is sent
	EditsWait    = "edits"   // nothing is edited
	EntryWaits   = "entry"   // this extra; a message makes its channel wait
)

// Pausing is what Retry does to the channel.
type RetryPlan struct {
	Wait   time.Duration // 0 = not at all
	Waits  string        // who waits; "" = the channel
	Reason string        // why, for people and metrics
	Fault  bool          // the entry itself may be at fault: count it
	State  SendState     // "" = NotPosted
}

func (p RetryPlan) WaitsOrDefault() string {
	if p.Waits == "" {
		return ChannelWaits
	}
	return p.Waits
}

func (p RetryPlan) StateOrDefault() string {
	if p.State == "" {
		return string(NotPosted)
	}
	return string(p.State)
}
