package events

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// generic is the relay's own format: one object, an array of them, or {"events": [...]}.
//
//	{"category": "errors", "title": "Disk full", "text": "/var is at 100 %", "severity": "critical",
//	 "status": "firing", "link": "https://...", "labels": {"host": "db-1"}, "id": "disk-db-1-42"}
//
// Only title or text is required. Names of fields are case-insensitive. If a body has other fields too, those fill the gaps
// as far as their names and values allow; see guess.go.
var generic = source{
	name:   "generic",
	rank:   fallback,
	claims: func(input) bool { return true },
	decode: decodeGeneric,
}

type genericEvent struct {
	ID       identifier `json:"id"`
	Category string     `json:"category"`
	Title    string     `json:"title"`
	Text     string     `json:"text"`
	Severity string     `json:"severity"`
	Status   string     `json:"status"`
	Link     string     `json:"link"`
	Labels   labels     `json:"labels"`
}

// genericFields are the fields of the format; "events" is a list of such objects.
var genericFields = map[string]bool{
	"id": true, "category": true, "title": true, "text": true, "severity": true, "status": true, "link": true, "labels": true,
}

func decodeGeneric(in input) ([]Event, error) {
	list := in.items
	switch wrapped := in.object["events"]; {
	case in.object == nil:
	case wrapped == nil || wrapped.Kind() == 'n':
		event, err := decodeGenericEvent(in.body, "")
		return []Event{event}, err
	default:
		if err := unmarshal(wrapped, &list, "events"); err != nil {
			return nil, err
		}
	}
	return each(list, in.limits, func(raw jsontext.Value, i int) (Event, error) {
		return decodeGenericEvent(raw, fmt.Sprintf("events[%d]", i))
	})
}

func decodeGenericEvent(raw jsontext.Value, at string) (Event, error) {
	var g genericEvent
	if err := unmarshal(raw, &g, at, json.MatchCaseInsensitiveNames(true)); err != nil {
		return Event{}, err
	}
	guessed := guess(raw)
	if g.Title == "" && g.Text == "" {
		if guessed.title == "" {
			return Event{}, badField(join(at, "title"), "or text is needed; set one of them")
		}
		g.Category = either(g.Category, either(guessed.category, guessed.kind))
		g.ID = "" // it may be the alert's, which all its notifications share
	}
	if len(g.ID) > maxID {
		return Event{}, badField(join(at, "id"), "has %d bytes, at most %d are allowed; shorten it", len(g.ID), maxID)
	}
	event := Event{
		ID:       string(g.ID),
		Category: either(g.Category, guessed.category),
		Title:    either(g.Title, guessed.title),
		Text:     either(g.Text, guessed.text),
		Labels:   g.Labels,
	}
	event.setSeverity(either(g.Severity, guessed.severity))
	event.setStatus(either(g.Status, guessed.status))
	event.addLink("Link", "link", either(g.Link, guessed.link))
	if event.Text == event.Title {
		event.Text = ""
	}
	return event, nil
}

// either returns the sender's own value, or else the guess.
func either(given, guessed string) string {
	if strings.TrimSpace(given) != "" {
		return given
	}
	return guessed
}
