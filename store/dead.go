package store

import (
	"time"
)

// DeadLetter is an entry that was buried.
type DeadLetter struct {
	ID       string // rising
	At       time.Time
	Number   int64
	Kind     string
	Payload  []byte
	Reason   string
	Answer   string
	Attempts int64
}

// Death says why an entry was buried.
type DeadReason struct {
	Reason string // one of the notifier's reasons
	Answer string // the last thing Slack said
	// Copy is the outbox that gets a copy; nil = none does. It is of the same limit group.
	CopyTo *Channel
	// Shown says that the message may have appeared all the same.
	MaybePosted bool
}
