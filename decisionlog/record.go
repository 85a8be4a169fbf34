package decisionlog

import (
	"strings"
	"time"
)

// The fates of events that were admitted. A [Record] has one of them, or the outcome of a decision, as receipts name it.
const (
	Delivered = "delivered" // its message was posted
	Edited    = "edited"    // its message was edited to show that it has ended
	Failed    = "failed"    // its message is in the dead letters
	Expired   = "expired"   // its message was older than its ttl
)

// MaxText is the largest size, in bytes, of what a sender chose in a line. The rest is cut off.
const MaxText = 256

// Record is what was decided about one event, or what became of it. It is written as one line of JSON. It contains neither the
// text of the event nor a secret.
type Record struct {
	At         time.Time `json:"at"`                    // by the clock of the replica: when the decision was asked for, or the fate was stored
	Replica    string    `json:"replica"`               // that wrote the line; the Log sets it
	Line       int64     `json:"line"`                  // rises by one with each line of a replica: a gap is lines that were dropped
	Outcome    string    `json:"outcome"`               // of the decision, or the fate
	Channel    string    `json:"channel"`               // of the relay
	ID         string    `json:"id"`                    // of the event
	Category   string    `json:"category"`              // of the event
	Severity   string    `json:"severity"`              // of the event
	Status     string    `json:"status,omitempty"`      // firing or resolved; absent = neither
	Source     string    `json:"source"`                // the body format
	Sender     string    `json:"sender,omitempty"`      // the name of the credential, or the remote address
	Level      string    `json:"level,omitempty"`       // of a drop: the level that refused
	Reason     string    `json:"reason,omitempty"`      // of a drop that no level made, or of a failure: why
	By         string    `json:"by,omitempty"`          // the rule, silence, heartbeat or inhibition that muted it, hold, or flapping
	RetryAfter float64   `json:"retry_after,omitempty"` // of a drop by a level: seconds until it could fit
	DecidedBy  string    `json:"decided_by,omitempty"`  // what made the decision: redis, memory, closed_cache or fallback
	Forced     bool      `json:"forced,omitempty"`      // an operator admitted it past the limits
	ReplayOf   string    `json:"replay_of,omitempty"`   // the id of the event that an operator replayed with this one
	Entry      int64     `json:"entry,omitempty"`       // of a fate: the number of the entry in the channel's outbox
	Kind       string    `json:"kind,omitempty"`        // of a fate: the kind of the entry, for example message
	Attempts   int64     `json:"attempts,omitempty"`    // of a fate: how often it was tried
	Age        float64   `json:"age,omitempty"`         // of a fate: seconds since the admission of the entry
	Slack      string    `json:"slack_channel,omitempty"`
	TS         string    `json:"ts,omitempty"` // with Slack: the message; both are absent if the destination does not return them
}

// bound cuts off what is too long of what a sender chose, and copies the rest: a line that waits must not keep a body.
func (r *Record) bound() {
	for _, text := range []*string{&r.ID, &r.Category, &r.Severity, &r.Status, &r.Source, &r.Sender, &r.By, &r.ReplayOf} {
		if len(*text) > MaxText {
			*text = strings.ToValidUTF8((*text)[:MaxText-len("…")], "") + "…"
		}
	}
}
