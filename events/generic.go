package events

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// generic is the relay's own format: one object, an array of them, or {"events": [...]}.
//
//	{"category": "errors", "title": "Disk full", "text": "/var is at 100 %", "severity": "critical",
//	 "status": "firing", "link": "https://...", "labels": {"host": "db-1"}, "id": "disk-db-1-42",
//	 "fingerprint": "disk-db-1", "started_at": "2026-11-20T07:00:00Z"}
//
// Only title or text is required. Names of fields are case-insensitive. A body that has any other field is of no known format:
// its fields are understood by their names and values as far as possible, and it is never refused; see guess.go.
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

	Fingerprint identifier `json:"fingerprint"`
	StartedAt   identifier `json:"started_at"`
}

// genericFields are the fields of the format; "events" is a list of such objects.
var genericFields = map[string]bool{
	"id": true, "category": true, "title": true, "text": true, "severity": true, "status": true, "link": true, "labels": true,
	"fingerprint": true, "started_at": true,
}

// isOwn reports whether all fields of an object are those of the format, in any case.
func isOwn(o object) bool {
	for _, m := range o {
		if !genericFields[m.name] && !genericFields[strings.ToLower(m.name)] {
			return false
		}
	}
	return true
}

// read sets the fields of an event without reflection. explicit is false if the body has any other fields, spells one of these
// differently, or has one of another type.
func (g *genericEvent) read(o object) (explicit bool) {
	for _, m := range o {
		r := reader{body: m.value}
		switch m.name {
		case "id":
			r.mismatch = !g.ID.set(m.value)
		case "fingerprint":
			r.mismatch = !g.Fingerprint.set(m.value)
		case "started_at":
			r.mismatch = !g.StartedAt.set(m.value)
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
	if in.object == nil && (len(in.body) == 0 || in.body[0] != '[' || !jsontext.Value(in.body).IsValid()) {
		return decodePlain(in)
	}
	list := in.items
	if wrapped, isEnvelope := envelopeOf(in.object); isEnvelope {
		if wrapped.Kind() != '[' {
			return nil, unmarshal(wrapped, &list, "events")
		}
		list = slices.Collect(itemsOf(wrapped))
	} else if in.object != nil {
		event, err := decodeGenericEvent(in, in.object, in.body, 0, "")
		return []Event{event}, err
	}
	return each(list, in.limits, func(raw jsontext.Value, i int) (Event, error) {
		return decodeGenericEvent(in, objectOf(raw), raw, i, "events["+strconv.Itoa(i)+"]")
	})
}

// envelopeOf returns the list of events of an object that has nothing else, or whose events all have a title or a text.
func envelopeOf(o object) (list jsontext.Value, ok bool) {
	list = o.field("events")
	if list == nil || list.Kind() == 'n' {
		return nil, false
	}
	if len(o) == 1 {
		return list, true
	}
	for item := range itemsOf(list) {
		if fields := objectOf(item); fields.first("title", "text") == "" {
			return nil, false
		}
		ok = true
	}
	return list, ok
}

// repeatsNames reports whether the only fault of a body is that an object in it has a name twice, and sets its fields. Some senders
// write such objects; in the relay's own format it is a mistake.
func (in *input) repeatsNames() bool {
	value := jsontext.Value(in.body)
	if deeperThan(value, in.limits.Depth) >= 0 || !value.IsValid(jsontext.AllowDuplicateNames(true)) || value.Kind() != '{' {
		return false
	}
	if fields := objectOf(value); !isOwn(fields) {
		in.object = fields
	}
	return in.object != nil
}

// decodeGenericEvent decodes an object, with its fields. at is its path within the body, and index its place among the events.
func decodeGenericEvent(in input, fields object, raw jsontext.Value, index int, at string) (Event, error) {
	var g genericEvent
	switch {
	case g.read(fields): // as nearly always
		return g.event(at)
	case fields == nil || isOwn(fields):
		return decodeGenericByReflection(raw, at)
	default:
		var event Event
		in.explain(index, fill(&event, fields, raw, allGaps))
		return event, nil
	}
}

// decodeGenericByReflection decodes an object with other spellings of the fields, or with a fault.
func decodeGenericByReflection(raw jsontext.Value, at string) (Event, error) {
	var g genericEvent
	if err := unmarshal(raw, &g, at, json.MatchCaseInsensitiveNames(true)); err != nil {
		return Event{}, err
	}
	return g.event(at)
}

// event returns the event.
func (g *genericEvent) event(at string) (Event, error) {
	if g.Title == "" && g.Text == "" {
		return Event{}, badField(join(at, "title"), "or text is needed; set one of them")
	}
	if len(g.ID) > maxID {
		return Event{}, badField(join(at, "id"), "has %d bytes, at most %d are allowed; shorten it", len(g.ID), maxID)
	}
	if len(g.Fingerprint) > maxID {
		return Event{}, badField(join(at, "fingerprint"), "has %d bytes, at most %d are allowed; shorten it", len(g.Fingerprint), maxID)
	}
	event := Event{
		ID:          string(g.ID),
		Category:    g.Category,
		Title:       g.Title,
		Text:        g.Text,
		Labels:      g.Labels,
		Fingerprint: string(g.Fingerprint),
	}
	if g.StartedAt != "" {
		if event.StartedAt = timeOf(string(g.StartedAt)); event.StartedAt.IsZero() {
			return Event{}, badField(join(at, "started_at"), "%q is not a time; use RFC 3339, for example 2026-11-20T07:00:00Z",
				cut(string(g.StartedAt), maxTime))
		}
	}
	event.setSeverity(g.Severity)
	event.setStatus(g.Status)
	event.addLink("Link", "link", g.Link)
	if event.Text == event.Title {
		event.Text = ""
	}
	event.distinguish()
	return event, nil
}

// distinguish makes the id of a firing and that of its resolve two, if the sender gives both the id of their alert, which is their
// fingerprint then.
func (e *Event) distinguish() {
	if e.ID == "" || e.Status == NoStatus {
		return
	}
	e.Fingerprint = cmp.Or(e.Fingerprint, e.ID)
	e.ID += ":" + string(e.Status)
	if !e.StartedAt.IsZero() {
		e.ID += ":" + e.StartedAt.UTC().Format(time.RFC3339Nano)
	}
}
