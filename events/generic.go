package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// generic is the relay's own format: one object, an array of them, or {"events": [...]}.
//
//	{"category": "errors", "title": "Disk full", "text": "/var is at 100 %", "severity": "critical",
//	 "status": "firing", "link": "https://...", "labels": {"host": "db-1"}, "id": "disk-db-1-42"}
//
// Only title or text is needed. Names are matched without regard to case.
var generic = source{
	name:   "generic",
	claims: func(shape) bool { return true },
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

func decodeGeneric(body []byte) ([]Event, error) {
	list, at, err := genericList(body)
	if err != nil {
		return nil, err
	}
	if len(list) > MaxEvents {
		return make([]Event, len(list)), nil // refused by number, whatever they say
	}
	all := make([]Event, 0, len(list))
	for i, raw := range list {
		path := at
		if path != "" || len(list) > 1 {
			path = fmt.Sprintf("%s[%d]", at, i)
		}
		event, err := decodeGenericEvent(raw, path)
		if err != nil {
			return nil, err
		}
		all = append(all, event)
	}
	return all, nil
}

// genericList finds the events of the body, and the path of their list ("" for a single object).
func genericList(body []byte) (list []json.RawMessage, at string, err error) {
	switch body[0] {
	case '[':
		err = unmarshal(body, &list, "")
		return list, "events", err
	case '{':
		var envelope struct {
			Events json.RawMessage `json:"events"`
		}
		if err := unmarshal(body, &envelope, ""); err != nil {
			return nil, "", err
		}
		if envelope.Events == nil || bytes.Equal(envelope.Events, []byte("null")) {
			return []json.RawMessage{body}, "", nil
		}
		err = unmarshal(envelope.Events, &list, "events")
		return list, "events", err
	default:
		return nil, "", badJSON("the body must be a JSON object or an array of objects")
	}
}

func decodeGenericEvent(raw []byte, at string) (Event, error) {
	var g genericEvent
	if err := unmarshal(raw, &g, at); err != nil {
		return Event{}, err
	}
	if g.Title == "" && g.Text == "" {
		return Event{}, badField(join(at, "title"), "or text is needed: one of them must say something")
	}
	if len(g.ID) > maxID {
		return Event{}, badField(join(at, "id"), "has %d bytes, at most %d are taken", len(g.ID), maxID)
	}
	event := Event{ID: string(g.ID), Category: g.Category, Title: g.Title, Text: g.Text, Labels: g.Labels}
	event.setSeverity(g.Severity)
	event.setStatus(g.Status)
	event.addLink("Link", "link", g.Link)
	return event, nil
}

// identifier is a string or a number.
type identifier string

// UnmarshalJSON implements [json.Unmarshaler].
func (id *identifier) UnmarshalJSON(data []byte) error {
	var value any
	if err := keepNumbers(data, &value); err != nil {
		return err
	}
	switch v := value.(type) {
	case nil:
	case string:
		*id = identifier(v)
	case json.Number:
		*id = identifier(v)
	default:
		return badField("id", "must be a string or a number")
	}
	return nil
}

// labels are scalars by name, kept as text.
type labels map[string]string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *labels) UnmarshalJSON(data []byte) error {
	var values map[string]any
	if err := keepNumbers(data, &values); err != nil {
		return badField("labels", "must be an object of strings, numbers, true or false")
	}
	*l = make(labels, len(values))
	for name, value := range values {
		switch v := value.(type) {
		case nil:
		case string:
			(*l)[name] = v
		case json.Number:
			(*l)[name] = v.String()
		case bool:
			(*l)[name] = strconv.FormatBool(v)
		default:
			return badField("labels."+name, "must be a string, a number, true or false")
		}
	}
	return nil
}

// keepNumbers decodes JSON with every number as it is written.
func keepNumbers(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}
