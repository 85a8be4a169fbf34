package store

import (
	"fmt"
	"time"
)

// The kinds of extras.
const (
	KindEdit       = "edit"        // of a message: its payload is the message's number
	KindDigest     = "digest"      // what was dropped
	KindDigestEdit = "digest-edit" // a digest that grew
	KindNotice     = "notice"      // something that the operators must know
	KindCopy       = "copy"        // of a message that its own destination refused
)

// Entry is one thing that waits.
type Entry struct {
	Number     int64         // its place in the order of the channel
	Kind       string        // "message", or the kind of an extra
	Payload    []byte        // what was enqueued
	Attempts   int64         // how often it was claimed before
	Faults     int64         // how many of those failed through what may be its own fault
	Age        time.Duration // since its admission
	AdmittedAt int64         // when it was admitted, microseconds of Redis's clock; with Number, it names the entry for ever
	// Doubt is since when, by Redis's clock, it is not known whether it was posted; zero = it was not. Looked is
	// how often it was looked up since the last attempt.
	UnknownSince time.Time
	Lookups      int64
	Thread       int64 // the number of the message that it answers; 0 = none
	// Name is what it was posted as, "<number>@<admitted at>", by a replica that could not reach Redis; "" = its own
	// number and admission.
	Name string
	// Backlog is the level that the entry leaves with the outbox, from the [Terms] of its claim; "" = none.
	Backlog string
}

// PostedAs is what the entry is called in the metadata of its message.
func (e *Entry) PostedAs() string {
	if e.Name != "" {
		return e.Name
	}
	return fmt.Sprintf("%d@%d", e.Number, e.AdmittedAt)
}

// Kind says what an entry of the outbox is.
type Kind string

// KindMessage is an event to be posted. It spends a slot and is counted as pending.
const KindMessage Kind = "message"

// Enqueue is what an admission appends to the outbox. The payload is opaque to the limiter.
type Enqueue struct {
	Kind    Kind
	Payload []byte
}
