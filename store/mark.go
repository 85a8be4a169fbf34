package store

import (
	"errors"
	"fmt"
	"time"

	"slackrelay/ratelimit"
)

// Mark is who acknowledged or muted a posted message, and when. Times are microseconds of the store's clock.
type Mark struct {
	User string `json:"user"`           // Slack's id
	Name string `json:"name,omitempty"` // of the user
	At   int64  `json:"at,string"`
	// Silence is the id of the silence that a mute made, and Until when that ends; 0 = when the message is resolved.
	Silence string `json:"silence,omitempty"`
	Until   int64  `json:"until,string,omitempty"`
}

// MarkKind is what a mark says of a message.
type MarkKind string

// The kinds of marks. A message has at most one of each.
const (
	MarkAcknowledged MarkKind = "ack"  // its repeats are counted on it, whatever [MessagePolicy.Repeats] is
	MarkMuted        MarkKind = "mute" // a silence mutes its alerts
)

// MarkChange sets a mark of a posted message, or removes it.
type MarkChange struct {
	Message int64   // the number of the message
	Place   Receipt // where it has to be in Slack
	Kind    MarkKind
	Remove  bool
	// Mark is the one to set; the store sets its At. Of a mark to remove, only Silence is used: another mark stays, unless
	// it is empty.
	Mark Mark
	// For is how long a mute lasts: the store sets its Until; 0 = until the message is resolved.
	For time.Duration
}

// MarkResult is what became of a [MarkChange]. Nothing was written unless it is [MarkChanged].
type MarkResult int

// The results of a change.
const (
	MarkChanged   MarkResult = iota // an edit that shows it is queued
	MarkUnchanged                   // the message has such a mark already, or not the one to remove
	MarkNoMessage                   // no message of this number is at this place
	MarkOver                        // no alert of the message is firing
)

// Bounds of marks.
const (
	maxMarkText = 200 // bytes of each text
	maxMarkFor  = 366 * 24 * time.Hour
)

// errMark is a mark that cannot be kept.
var errMark = errors.New("a mark needs a message, a place, a kind and a user; its texts have 200 bytes at most, it lasts a year at most")

// Validate returns a [ratelimit.ErrRequest] unless the change can be made.
func (c MarkChange) Validate() error {
	ok := c.Message > 0 && c.Place.Channel != "" && c.Place.TS != "" && (c.Remove || c.Mark.User != "") &&
		max(len(c.Mark.User), len(c.Mark.Name), len(c.Mark.Silence)) <= maxMarkText && c.For >= 0 && c.For <= maxMarkFor
	if !ok || c.Kind != MarkAcknowledged && c.Kind != MarkMuted {
		return fmt.Errorf("%w: %w", ratelimit.ErrRequest, errMark)
	}
	return nil
}
