package store

import (
	"fmt"
	"time"
)

// Kind is what an entry of a queue is.
type Kind string

// KindMessage is an event to be posted. It spends units, and counts as pending while it is queued.
const KindMessage Kind = "message"

// The kinds of extras, which spend no units.
const (
	KindEdit       = "edit"        // of a message; the payload is the message's number
	KindDigest     = "digest"      // of what was dropped or expired; the payload is a [Digest]
	KindDigestEdit = "digest-edit" // of a digest that is posted; the payload is a [Digest]
	KindNotice     = "notice"      // to the operators
	KindCopy       = "copy"        // of a message that its own destination refused
	KindReminder   = "reminder"    // a reply to a message that still fires; the payload names the message
)

// Enqueue is what an admission appends to the queue.
type Enqueue struct {
	Kind    Kind
	Payload []byte
}

// Entry is one entry of a queue, as a claim returns it. Number and AdmittedAt together name it.
type Entry struct {
	Number     int64         // rises in the order of admission within the channel
	Kind       string        // "message", or the kind of an extra; "" = the entry was not written by the relay
	Payload    []byte        // as it was queued
	Attempts   int64         // how often it was claimed before
	Faults     int64         // how many of those failed and may have been the entry's own fault
	Age        time.Duration // since its admission
	AdmittedAt int64         // microseconds of the store's clock; 0 = the entry was not written by the relay
	// UnknownSince is since when, by the store's clock, it is unknown whether the entry was posted; zero = it was not.
	UnknownSince time.Time
	// Lookups is how often Slack was searched for it since the last attempt.
	Lookups int64
	// Thread is the number of the message that it replies to; 0 = none.
	Thread int64
	// Name is the name it was posted with by a replica that could not reach Redis; see [Entry.PostedAs]. "" = the default.
	Name string
	// Backlog is the level that the entry leaves with the queue, from the [Terms] of its claim; "" = none.
	Backlog string
}

// PostedAs returns the name of the entry in the metadata of its Slack message: "<number>@<admitted at>".
func (e *Entry) PostedAs() string {
	if e.Name != "" {
		return e.Name
	}
	return fmt.Sprintf("%d@%d", e.Number, e.AdmittedAt)
}

// Receipt is where a message is in Slack. It is empty where Slack does not return that, as for incoming webhooks.
type Receipt struct {
	Channel string // Slack's id of the channel
	TS      string // Slack's id of the message in the channel
}

// Delivery is an entry that reached Slack.
type Delivery struct {
	Entry   Entry
	Receipt Receipt
}

// DelayedMessage is a message that waits for a slot.
type DelayedMessage struct {
	Number   int64 // for [Request.Delayed]
	Category string
	Payload  []byte
}

// Bounds of the queue that both stores keep.
const (
	// MaxDelayed is of how many categories [Store.Delayed] lists a message at once.
	MaxDelayed = 64
	// AppendDedupe is how long [Store.Append] remembers an id.
	AppendDedupe = 24 * time.Hour
)
