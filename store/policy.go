package store

import (
	"fmt"
	"time"
)

// otherCategory takes what exceeds the number of categories in one parcel.
const OtherCategory = "other"

// Bounds of what one parcel tells a digest: titles must not crowd out counts.
const (
	maxDigestCounts = 1000
	maxDigestTitles = 100
)

// Overflow says what becomes of what does not fit.
type OverflowPolicy string

// The overflow policies.
const (
	OverflowDrop  OverflowPolicy = "drop"  // it is dropped
	OverflowDelay OverflowPolicy = "delay" // it waits for a slot; see [Request.Delayed]
	OverflowMerge OverflowPolicy = "merge" // what the category refuses is counted on the category's last message
)

// Resolves says what becomes of a resolve whose firing was told.
type ResolvesPolicy string

// What becomes of resolves.
const (
	ResolvesPost  ResolvesPolicy = "post"  // it is a message like any other
	ResolvesReply ResolvesPolicy = "reply" // it answers the firing's message
	ResolvesEdit  ResolvesPolicy = "edit"  // the firing's message is edited; no slot is spent
)

// Handling says what becomes of events beside being admitted or refused. It is the same for all requests of a
// call. A request without one is handled by the limits alone.
type MessagePolicy struct {
	Overflow   OverflowPolicy
	MaxDelayed int64         // how many may wait, for OverflowDelay
	MaxDelay   time.Duration // and for how long
	Resolves   ResolvesPolicy
	Repeats    bool // a repeat of a firing is counted on its message
	Digest     bool // what is dropped is noted for the digest
	// Drops is how many drops the channel's record keeps; 0 = none.
	KeepDrops int64
	// PostedFor is how long a message is remembered, so that a resolve or a repeat finds it. Default 72 h.
	PostedFor time.Duration
	// EditEvery is the time between two edits of a count on the same message. Default 30 s.
	EditEvery time.Duration
}

// DefaultPostedFor is how long a message is remembered.
const DefaultPostedFor = 72 * time.Hour

const defaultEditEvery = 30 * time.Second

func (h *MessagePolicy) RememberFor() time.Duration {
	if h.PostedFor == 0 {
		return DefaultPostedFor
	}
	return h.PostedFor
}

func (h *MessagePolicy) EditInterval() time.Duration {
	if h.EditEvery == 0 {
		return defaultEditEvery
	}
	return h.EditEvery
}

// Status says whether an event begins something or ends it.
type Status string

// The statuses.
const (
	Firing   Status = "firing"
	Resolved Status = "resolved"
	Update   Status = "update" // it takes the place of what the message of its fingerprint says
)

// Event is what handling needs to know of an event.
type Event struct {
	Status      Status // "" = neither
	Fingerprint string // the same for all events of one alert; "" = none. At most 64 bytes.
	// Fingerprinted says that the event has a fingerprint, where the request's Source makes it later.
	Fingerprinted bool
	ReplyTo       string // the fingerprint of the message that it replies to; "" = none
	Bundle        string // requests of a call with the same bundle and category become one message; "" = none
	Severity      string // for the digest
	Title         string // for the digest
}

func (r *Request) checkPolicy() error {
	switch h := r.Policy; {
	case len(r.Event.Fingerprint) > 64 || len(r.Event.ReplyTo) > 64:
		return fmt.Errorf("fingerprint has %d bytes, want at most 64", max(len(r.Event.Fingerprint), len(r.Event.ReplyTo)))
	case h == nil && r.Delayed > 0:
		return fmt.Errorf("it asks again for what is delayed, without a handling")
	case h == nil:
		return nil
	case h.Overflow != OverflowDrop && h.Overflow != OverflowDelay && h.Overflow != OverflowMerge:
		return fmt.Errorf("overflow %q is unknown", h.Overflow)
	case h.Resolves != ResolvesPost && h.Resolves != ResolvesReply && h.Resolves != ResolvesEdit:
		return fmt.Errorf("resolves %q is unknown", h.Resolves)
	case h.Overflow == OverflowDelay && (h.MaxDelayed < 1 || h.MaxDelay <= 0):
		return fmt.Errorf("overflow delay needs a number and a time")
	default:
		return nil
	}
}

// noteOf is what a digest says of a drop.
func (r *Request) AddDigestCounts(noted map[string]int64, n int64) {
	severity := r.Event.Severity
	if severity == "" {
		severity = "warning"
	}
	count, title := "d:"+r.Category+":"+severity, "t:"+r.Event.Title
	if _, known := noted[count]; !known && len(noted) >= maxDigestCounts {
		count = "d:" + OtherCategory + ":warning"
	}
	noted[count] += n
	if _, known := noted[title]; known || len(noted) < maxDigestTitles {
		noted[title] += n
	}
}
