// Package problem decides what people read of a problem over time: an alert that resolves soon is held back, one that
// changes all the time is said once, and one that follows from another is muted while that one fires.
//
// What is remembered of a problem is a [Document], which [Settings.Observe] and [Settings.Wake] turn into a new one and a
// [Verdict]. They are pure functions: time is an argument, and the caller keeps the documents (see store.Problems), with
// compare-and-set, so that each effect happens once over all replicas.
//
// An event that must be admitted later is in [Document.Out]. The caller saves the document first, then admits the event, and
// then saves what [Document.Finish] returns: if it dies in between, the document wakes again, and the event is admitted by
// the same id.
package problem

import (
	"encoding/json"
	"time"
)

// Settings are those of a channel. The zero value holds nothing, and follows no changes.
type Settings struct {
	Flapping Flapping
	// Remember is how long a problem is known that fires, without another event. Default 72 h.
	Remember time.Duration
}

// Flapping is when a problem counts as flapping. Without Changes, none does.
type Flapping struct {
	Changes int           // between firing and resolved
	Within  time.Duration // the time in which so many changes are too many
	Stable  time.Duration // how long it must not change to be stable again
}

// Event is what is decided about: the firing or the resolve of an alert.
type Event struct {
	ID       string
	Resolved bool
	Data     json.RawMessage // the event itself
	Hold     time.Duration   // how long a firing waits for its resolve; 0 = not at all
	// Inhibition is the name of the inhibition that mutes a firing, and Source what fires; "" = none.
	Inhibition, Source string
}

// Action is what happens to an event.
type Action int

// The actions. All but Pass are final.
const (
	Pass      Action = iota // ask the limiter
	Hold                    // it waits; counted as delayed
	Mute                    // nobody needs to read it; counted as muted
	Merge                   // another event says it; counted as merged
	Duplicate               // this event was decided about before
)

// Verdict is what is decided about an event.
type Verdict struct {
	Action Action
	By     string // "hold", "flapping" or "inhibition <name>"; "" = it passes
	Why    string // a sentence for people
	Note   string // a remark that the message of a passing event shows
	// Unheld means that an event that waited is muted too: it is no longer counted as delayed.
	Unheld bool
}

// Times of documents.
const (
	lookAgain = 5 * time.Second // between two looks at the source of an inhibited event that has ended
	// lookAtLeast is the longest time between two looks at a source that fires, where the settings may have changed.
	lookAtLeast = time.Minute
	claim       = 5 * time.Second // how long an admission may take before another replica repeats it
	late        = 3 * time.Second // a document that wakes later than this slept through an outage
	grace       = 5 * time.Second // then replicas may report first what they could not say in the outage
	forget      = time.Hour       // how long a problem is known after its end
)

// By is what receipts name for holds and flapping. An inhibition follows its word.
const (
	ByHold        = "hold"
	ByFlapping    = "flapping"
	ByInhibition  = "inhibition "
	defaultMemory = 72 * time.Hour
)

// Document is what is remembered of a problem. Times are microseconds of the store's clock. The zero value is a problem that
// is not known.
type Document struct {
	Last     string     `json:"last,omitempty"`   // the id of the newest event
	At       int64      `json:"at,omitempty"`     // when it came
	Firing   bool       `json:"firing,omitempty"` // at present
	Said     bool       `json:"said,omitempty"`   // its present firing was passed on
	Noted    int64      `json:"noted,omitempty"`  // when that, or a repeat, was written last
	Silent   string     `json:"silent,omitempty"` // what kept its last firing from being passed on: nobody misses its resolve
	Unsaid   string     `json:"unsaid,omitempty"` // the id of that firing
	Held     *Waiting   `json:"held,omitempty"`
	Muted    *Inhibited `json:"muted,omitempty"`
	Changes  []int64    `json:"changes,omitempty"` // when it changed, within the time of [Flapping]
	Quiet    *Quiet     `json:"quiet,omitempty"`
	Out      *Out       `json:"out,omitempty"`
	NotUntil int64      `json:"not_until,omitempty"` // it slept through an outage, and wakes again then
}

// Waiting is an event that is held.
type Waiting struct {
	ID    string          `json:"id"`
	Since int64           `json:"since"`
	Until int64           `json:"until"`
	Data  json.RawMessage `json:"data"`
}

// Inhibited is an event that an inhibition mutes, in case it must be said later.
type Inhibited struct {
	ID    string          `json:"id"`
	By    string          `json:"by"`    // the inhibition
	Since int64           `json:"since"` // when it was muted first
	Next  int64           `json:"next"`  // when to look at its source again
	Data  json.RawMessage `json:"data"`
}

// Quiet is a problem that flaps.
type Quiet struct {
	Since     int64           `json:"since"`
	ChangedAt int64           `json:"changed_at"`
	Kept      int             `json:"kept"`            // changes since then that nobody read
	ID        string          `json:"id"`              // the newest event
	Data      json.RawMessage `json:"data,omitempty"`  // without it, the newest event is in Out
	Began     string          `json:"began,omitempty"` // the id of the event that passed and began it; "" = a held one did
	Note      string          `json:"note,omitempty"`  // the remark with which it passed
}

// Out is an event that must be admitted.
type Out struct {
	ID     string          `json:"id"`
	Data   json.RawMessage `json:"data"`
	Note   string          `json:"note,omitempty"`
	Firing bool            `json:"firing"`         // its status, whatever Data says
	Made   bool            `json:"made,omitempty"` // the relay makes it; else it was counted as received and delayed before
	Of     string          `json:"of,omitempty"`   // the id of the event that one that is made follows
	Again  int64           `json:"again"`          // when somebody else admits it
	Tries  int             `json:"tries"`          // how often it was claimed before
}

// Wake returns when the document must be looked at; 0 = never.
func (d *Document) Wake(s Settings) int64 {
	var at int64
	sooner := func(t int64) {
		if at == 0 || t < at {
			at = t
		}
	}
	switch {
	case d.Out != nil:
		return d.Out.Again
	case d.Held != nil:
		sooner(d.Held.Until)
	case d.Muted != nil:
		sooner(d.Muted.Next)
	case d.Quiet != nil:
		sooner(d.Quiet.ChangedAt + s.Flapping.Stable.Microseconds())
	}
	if at != 0 {
		at = max(at, d.NotUntil)
	}
	return at
}

// Keep returns how long the document is needed if nothing happens; 0 = not at all.
func (d *Document) Keep(s Settings) time.Duration {
	switch {
	case d.Firing || d.Out != nil || d.Quiet != nil:
		if s.Remember > 0 {
			return s.Remember
		}
		return defaultMemory
	case d.Silent != "" || len(d.Changes) > 0:
		return max(forget, s.Flapping.Within)
	default:
		return 0
	}
}

// Encode returns the document as it is kept; nil = it is not needed.
func (d *Document) Encode(s Settings) ([]byte, error) {
	if d.Keep(s) == 0 {
		return nil, nil
	}
	return json.Marshal(d)
}

// Decode returns a document; without data, it is a problem that is not known.
func Decode(data []byte) (d Document, err error) {
	if len(data) == 0 {
		return d, nil
	}
	err = json.Unmarshal(data, &d)
	return d, err
}
