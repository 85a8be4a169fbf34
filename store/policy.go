package store

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// MessagePolicy is how a channel treats events beyond admitting or refusing them: repeats, resolves, and what does not
// fit. All requests of a call have the same policy. A request without one is decided by its levels alone.
//
//	policy := &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesEdit, Digest: true}
type MessagePolicy struct {
	Overflow   OverflowPolicy
	MaxDelayed int64         // how many messages may wait with OverflowDelay; 1 or more
	MaxDelay   time.Duration // how long a message may wait with OverflowDelay; above 0
	Resolves   ResolvesPolicy
	Repeats    bool // a repeat of a firing is counted on its message
	Digest     bool // drops are counted for the digest
	// KeepDrops is how many drops the channel's log keeps; 0 = none.
	KeepDrops int64
	// PostedFor is how long a message is remembered, so that a resolve or a repeat finds it. Default [DefaultPostedFor].
	PostedFor time.Duration
	// EditEvery is the time between two edits of a count on the same message. Default 30 s.
	EditEvery time.Duration
}

// OverflowPolicy is what happens to an event that does not fit its limits.
type OverflowPolicy string

// The overflow policies.
const (
	OverflowDrop  OverflowPolicy = "drop"  // it is dropped
	OverflowDelay OverflowPolicy = "delay" // it waits for a slot; see [Request.Delayed]
	OverflowMerge OverflowPolicy = "merge" // what the category level refuses is counted on the category's last message
)

// ResolvesPolicy is what happens to a resolve whose firing was posted.
type ResolvesPolicy string

// The policies for resolves.
const (
	ResolvesPost  ResolvesPolicy = "post"  // it is a message like any other
	ResolvesReply ResolvesPolicy = "reply" // it replies to the firing's message
	ResolvesEdit  ResolvesPolicy = "edit"  // the firing's message is edited; no units are spent
)

// DefaultPostedFor is how long a message is remembered by default.
const DefaultPostedFor = 72 * time.Hour

const defaultEditEvery = 30 * time.Second

// RememberFor returns PostedFor, or its default.
func (p *MessagePolicy) RememberFor() time.Duration {
	if p.PostedFor == 0 {
		return DefaultPostedFor
	}
	return p.PostedFor
}

// EditInterval returns EditEvery, or its default.
func (p *MessagePolicy) EditInterval() time.Duration {
	if p.EditEvery == 0 {
		return defaultEditEvery
	}
	return p.EditEvery
}

// Status is whether an event begins an alert or ends it.
type Status string

// The statuses.
const (
	Firing   Status = "firing"
	Resolved Status = "resolved"
	Update   Status = "update" // it replaces the text of the message with its fingerprint
)

// maxFingerprint is the longest fingerprint, in bytes.
const maxFingerprint = 64

// Event is what a [MessagePolicy] needs to know of an event.
type Event struct {
	Status      Status // "" = the event neither begins nor ends an alert
	Fingerprint string // the same for all events of one alert; at most 64 bytes; "" = none
	// Fingerprinted says that the event has a fingerprint, where the request's Source makes it later.
	Fingerprinted bool
	ReplyTo       string // the fingerprint of the message that it replies to; "" = none
	// Bundle is the name of the bundle of the request; "" = none. Requests of a call with the same bundle become one
	// message. Requests of later calls join it where the name begins with [WebhookPrefix], or with [GroupPrefix] as long
	// as one of its alerts is firing.
	Bundle   string
	Severity string // for the digest; "" = warning
	Title    string // for the digest
}

// What the names of bundles begin with that later calls add to.
const (
	WebhookPrefix = "@" // a webhook of several calls
	GroupPrefix   = "#" // a group of a sender
)

// InGroup reports whether the event's bundle is a group of a sender.
func (e *Event) InGroup() bool { return strings.HasPrefix(e.Bundle, GroupPrefix) }

// BundleOutlivesCall reports whether requests of later calls may join the event's bundle.
func (e *Event) BundleOutlivesCall() bool {
	return e.InGroup() || strings.HasPrefix(e.Bundle, WebhookPrefix)
}

func (r *Request) checkPolicy() error {
	if longest := max(len(r.Event.Fingerprint), len(r.Event.ReplyTo)); longest > maxFingerprint {
		return fmt.Errorf("fingerprint has %d bytes, want at most %d", longest, maxFingerprint)
	}
	if r.Policy == nil {
		if r.Delayed > 0 {
			return errors.New("a request that asks again for a delayed event needs a policy")
		}
		return nil
	}
	switch p := r.Policy; {
	case p.Overflow != OverflowDrop && p.Overflow != OverflowDelay && p.Overflow != OverflowMerge:
		return fmt.Errorf("overflow %q is unknown", p.Overflow)
	case p.Resolves != ResolvesPost && p.Resolves != ResolvesReply && p.Resolves != ResolvesEdit:
		return fmt.Errorf("resolves %q is unknown", p.Resolves)
	case p.Overflow == OverflowDelay && (p.MaxDelayed < 1 || p.MaxDelay <= 0):
		return errors.New("overflow delay needs a number and a time")
	default:
		return nil
	}
}
