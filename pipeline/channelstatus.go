package pipeline

import (
	"time"

	"slackrelay/ratelimit/replica"
	"slackrelay/store"
)

// ChannelStatus is the state of one channel. It is a reply of the API.
type ChannelStatus struct {
	Channel    string           `json:"channel"`
	Levels     []LevelStatus    `json:"levels"`
	Ledger     store.Ledger     `json:"ledger"`
	Categories []CategoryStatus `json:"categories,omitzero"`
	State      ChannelState     `json:"state"`

	// Held is how many events wait for their resolve, or until their hold ends; absent = none.
	Held int64 `json:"held,omitempty"`

	// OldestSeconds is the age of the oldest message in the outbox; 0 = there is none.
	OldestSeconds float64 `json:"oldest_seconds"`

	Oldest time.Duration `json:"-"` // the same
	Active bool          `json:"-"` // events were admitted or dropped within the hour

	dropping  bool      // the count of drops grew within the last minute
	droppedAt time.Time // when it was seen to have grown; zero = it was not
}

// LevelStatus is how full a level is. Per and RetryAfter are in seconds; a RetryAfter of 0 means that one
// more event fits now.
type LevelStatus struct {
	Level      string  `json:"level"`
	Limit      int64   `json:"limit"`
	Per        float64 `json:"per"`
	Used       int64   `json:"used"`
	RetryAfter float64 `json:"retry_after"`
	// Warming is for how long, in seconds, the level still counts too little, because its window was lengthened; absent = it
	// does not.
	Warming float64 `json:"warming,omitempty"`
}

// CategoryStatus is how full a category is, and the outcome of its events within 24 hours.
type CategoryStatus struct {
	Category string `json:"category"`
	Used     int64  `json:"used"`
	Limit    int64  `json:"limit"`
	// Per is the length of the window, and RetryAfter when one more event fits the category; both in seconds.
	Per        float64 `json:"per"`
	RetryAfter float64 `json:"retry_after"`
	Admitted   int64   `json:"admitted"`
	Dropped    int64   `json:"dropped"`
}

// ChannelState is whether a channel sends.
type ChannelState struct {
	PausedUntil *time.Time `json:"paused_until"` // nil = it sends
	Reason      string     `json:"reason"`       // of the pause
	// Fault is why nothing can be posted, until somebody does something about it; nil = nothing is known.
	Fault *DestinationFault `json:"fault,omitempty"`
	// Fallback is the policy that decides while Redis is unavailable: all else is then known to this replica only.
	Fallback replica.Policy `json:"fallback,omitempty"`
}
