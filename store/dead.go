package store

import (
	"time"
)

// DeadLetter is an entry that was buried: it can never be delivered, or nobody knows whether it was.
type DeadLetter struct {
	ID       string    // rises with time
	At       time.Time // when it was buried
	Number   int64     // of the entry
	Kind     string    // of the entry
	Payload  []byte    // of the entry
	Reason   string    // one of the notifier's reasons
	Answer   string    // Slack's last answer
	Attempts int64     // how often the entry was claimed
}

// DeadReason is why an entry is buried.
type DeadReason struct {
	Reason string // one of the notifier's reasons
	Answer string // Slack's last answer
	// CopyTo is the channel whose queue gets a copy, of the same limit group; nil = none does.
	CopyTo *Channel
	// MaybePosted means that it is unknown whether the message is in Slack.
	MaybePosted bool
}
