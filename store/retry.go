package store

import (
	"time"
)

// Fate says whether a message that was tried appeared in Slack.
type SendState string

// The fates.
const (
	NotPosted SendState = "not-posted" // certainly not
	Unknown   SendState = "unknown"    // nobody knows
	Looked    SendState = "looked"     // it was looked up, and not found
	Again     SendState = "again"      // it was not found, and is to be sent once more
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
	Who    string        // who waits; "" = the channel
	Reason string        // why, for people and metrics
	Fault  bool          // the entry itself may be at fault: count it
	Fate   SendState     // "" = NotPosted
}

func (p RetryPlan) WhoWaits() string {
	if p.Who == "" {
		return ChannelWaits
	}
	return p.Who
}

func (p RetryPlan) StateOrDefault() string {
	if p.Fate == "" {
		return string(NotPosted)
	}
	return string(p.Fate)
}
