package ratelimit

import (
	"encoding/json"
	"fmt"
	"time"
)

// Overflow says what becomes of what does not fit.
type Overflow string

// The overflow policies.
const (
	OverflowDrop  Overflow = "drop"  // it is dropped
	OverflowDelay Overflow = "delay" // it waits for a slot; see [Request.Delayed]
	OverflowMerge Overflow = "merge" // what the category refuses is counted on the category's last message
)

// Resolves says what becomes of a resolve whose firing was told.
type Resolves string

// What becomes of resolves.
const (
	ResolvesPost  Resolves = "post"  // it is a message like any other
	ResolvesReply Resolves = "reply" // it answers the firing's message
	ResolvesEdit  Resolves = "edit"  // the firing's message is edited; no slot is spent
)

// Handling says what becomes of events beside being admitted or refused. It is the same for all requests of a
// call. A request without one is handled by the limits alone.
type Handling struct {
	Overflow   Overflow
	MaxDelayed int64         // how many may wait, for OverflowDelay
	MaxDelay   time.Duration // and for how long
	Resolves   Resolves
	Repeats    bool // a repeat of a firing is counted on its message
	Digest     bool // what is dropped is noted for the digest
	// Drops is how many drops the channel's record keeps; 0 = none.
	Drops int64
	// PostedFor is how long a message is remembered, so that a resolve or a repeat finds it. Default 72 h.
	PostedFor time.Duration
	// EditEvery is the time between two edits of a count on the same message. Default 30 s.
	EditEvery time.Duration
}

// DefaultPostedFor is how long a message is remembered.
const DefaultPostedFor = 72 * time.Hour

const defaultEditEvery = 30 * time.Second

func (h *Handling) postedFor() time.Duration {
	if h.PostedFor == 0 {
		return DefaultPostedFor
	}
	return h.PostedFor
}

func (h *Handling) editEvery() time.Duration {
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
	Answers     string // the fingerprint of the message that it replies to; "" = none
	Bundle      string // requests of a call with the same bundle and category become one message; "" = none
	Severity    string // for the digest
	Title       string // for the digest
}

// handlingJSON is the options of lua/admit.lua.
type handlingJSON struct {
	Overflow Overflow `json:"overflow"`
	Most     int64    `json:"most"`
	Age      int64    `json:"age"`
	Resolves Resolves `json:"resolves"`
	Repeats  bool     `json:"repeats"`
	Digest   bool     `json:"digest"`
	Drops    int64    `json:"drops"`
	Posted   int64    `json:"posted"`
	Every    int64    `json:"every"`
	Names    []string `json:"names"`
}

// json is the handling as lua/admit.lua reads it, with the names of the plan's levels.
func handlingText(h *Handling, levels []Level) []byte {
	names := make([]string, len(levels))
	for i := range levels {
		names[i] = levels[i].Name
	}
	encoded, err := json.Marshal(handlingJSON{
		Overflow: h.Overflow, Most: h.MaxDelayed, Age: h.MaxDelay.Microseconds(), Resolves: h.Resolves, Repeats: h.Repeats,
		Digest: h.Digest, Drops: h.Drops, Posted: h.postedFor().Microseconds(), Every: h.editEvery().Microseconds(), Names: names,
	})
	if err != nil { // strings and numbers
		return []byte("{}")
	}
	return encoded
}

// mustAsk tells whether only the shared state can say what becomes of a request: it may spend no slot.
func mustAsk(r *Request) bool {
	h := r.Handling
	if h == nil {
		return r.Forced
	}
	if h.Overflow != OverflowDrop || r.Delayed > 0 || r.Forced {
		return true
	}
	switch r.Event.Status {
	case Resolved, Update:
		return r.Event.Fingerprint != ""
	case Firing:
		return r.Event.Fingerprint != "" && h.Repeats
	default:
		return false
	}
}

func (r *Request) checkHandling() error {
	switch h := r.Handling; {
	case len(r.Event.Fingerprint) > 64 || len(r.Event.Answers) > 64:
		return fmt.Errorf("fingerprint has %d bytes, want at most 64", max(len(r.Event.Fingerprint), len(r.Event.Answers)))
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
func (r *Request) noteOf(noted map[string]int64, n int64) {
	severity := r.Event.Severity
	if severity == "" {
		severity = "warning"
	}
	count, title := "d:"+r.Category+":"+severity, "t:"+r.Event.Title
	if _, known := noted[count]; !known && len(noted) >= maxNoted {
		count = "d:" + otherCategory + ":warning"
	}
	noted[count] += n
	if _, known := noted[title]; known || len(noted) < maxTitled {
		noted[title] += n
	}
}

// Drop is a record of what was dropped.
type Drop struct {
	ID       string // rising
	At       time.Time
	Payload  []byte // of the event, as it would have been queued; empty where that was not known
	Category string
	Level    string        // the level that refused, or the reason: never, full, suppressed
	Used     int64         // units of that level; -1 where a reason refused
	Limit    int64         // its limit; -1
	Retry    time.Duration // until it would have fit; 0 where that is not known
}
