package events

import (
	"slices"
	"strconv"
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

// read sets the fields of an event without reflection. explicit is false if the body has any other fields, spells one of these
// differently, or has one of another type.
func (g *genericEvent) read(o object) (explicit bool) {
	for _, m := range o {
		r := reader{body: m.value}
		switch m.name {
		case "id":
			r.mismatch = !g.ID.set(m.value)
		case "category":
			g.Category = r.text()
		case "title":
			g.Title = r.text()
		case "text":
			g.Text = r.text()
		case "severity":
			g.Severity = r.text()
		case "status":
			g.Status = r.text()
		case "link":
			g.Link = r.text()
		case "labels":
			g.Labels = r.labels()
		default:
			return false
		}
		if r.mismatch {
			return false
		}
	}
	return o != nil
}

func decodeGeneric(in input) ([]Event, error) {
	list := in.items
	switch wrapped := in.field("events"); {
	case in.object == nil:
	case wrapped == nil || wrapped.Kind() == 'n':
		event, err := decodeGenericEvent(in.object, in.body, "")
		return []Event{event}, err
	case wrapped.Kind() == '[':
		list = slices.Collect(itemsOf(wrapped))
	default:
		return nil, unmarshal(wrapped, &[]jsontext.Value{}, "events")
	}
	return each(list, in.limits, func(raw jsontext.Value, i int) (Event, error) {
		return decodeGenericEvent(objectOf(raw), raw, "events["+strconv.Itoa(i)+"]")
	})
}

// decodeGenericEvent decodes an object, with its fields. at is its path within the body.
func decodeGenericEvent(fields object, raw jsontext.Value, at string) (Event, error) {
	var g genericEvent
	if !g.read(fields) {
		return decodeGenericByReflection(fields, raw, at)
	}
	return g.event(guessed{}, at) // such a body is explicit
}

// decodeGenericByReflection decodes an object with other fields, with other spellings of the fields, or with a fault.
func decodeGenericByReflection(fields object, raw jsontext.Value, at string) (Event, error) {
	var g genericEvent
	if err := unmarshal(raw, &g, at, json.MatchCaseInsensitiveNames(true)); err != nil {
		return Event{}, err
	}
	return g.event(guess(fields), at)
}

// event returns the event, whose gaps the guessed fields fill.
func (g *genericEvent) event(guessed guessed, at string) (Event, error) {
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
