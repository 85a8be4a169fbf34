package pipeline

import (
	"encoding/json"
	"fmt"

	"slackrelay/events"
	"slackrelay/problem"
)

// keptEvent is an event as a document keeps it: with what no message needs, but its admission.
type keptEvent struct {
	events.Event

	Group string `json:"group,omitempty"`
}

func encodeKept(e *events.Event) ([]byte, error) {
	data, err := json.Marshal(keptEvent{*e, e.Group})
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return data, nil
}

func decodeKept(data []byte) (events.Event, error) {
	var kept keptEvent
	if err := json.Unmarshal(data, &kept); err != nil {
		return kept.Event, fmt.Errorf("decode an event: %w", err)
	}
	kept.Event.Group = kept.Group
	return kept.Event, nil
}

// eventOf returns the event that is admitted for a document.
func eventOf(out *problem.Out) (events.Event, error) {
	e, err := decodeKept(out.Data)
	if err != nil {
		return e, err
	}
	e.ID = out.ID
	e.Note = joinNotes(e.Note, out.Note)
	e.Status = events.Resolved
	if out.Firing {
		e.Status = events.Firing
	}
	if out.Made {
		e.Follows = out.Of
	}
	return e, nil
}

// joinNotes returns both remarks.
func joinNotes(note, more string) string {
	if note == "" || more == "" {
		return note + more
	}
	return note + "; " + more
}
