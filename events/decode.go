package events

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxEvents is the most events in one webhook.
const MaxEvents = 1000

// Webhook is what a sender posted. The body is bounded by the caller.
type Webhook struct {
	Source string      // the body format; "" = find out from the body
	Header http.Header // delivery ids are read from here
	Body   []byte
}

// source is one body format.
type source struct {
	name string
	// claims tells from the fields of the body's outermost object whether it is of this format.
	claims func(body shape) bool
	decode func(body []byte) ([]Event, error)
}

// shape are the fields of the outermost object; nil when the body is no object.
type shape map[string]json.RawMessage

func (s shape) has(names ...string) bool {
	for _, name := range names {
		if _, ok := s[name]; !ok {
			return false
		}
	}
	return true
}

// sources are asked in this order; the last one takes what nobody claims.
var sources = []source{alertmanager, generic}

// Sources are the names that a webhook's source may have.
func Sources() []string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.name
	}
	return names
}

// Decode turns a webhook into its events, in the order of the body, with category, severity and id set.
//
// The id is the sender's own, else made of fingerprint, status and start time, else of the delivery header
// and the event's place, else random: two identical anonymous events are two events.
//
// Every error is an [*InputError].
func Decode(w Webhook) ([]Event, error) {
	body := bytes.TrimSpace(bytes.TrimPrefix(w.Body, []byte("\xef\xbb\xbf")))
	if len(body) == 0 {
		return nil, &InputError{Code: EmptyBody, Message: "the body is empty; post a JSON object with at least a title or a text"}
	}
	if at := invalidUTF8(body); at >= 0 {
		return nil, badJSON("the body is not valid UTF-8 at byte %d", at)
	}
	s, err := w.find(body)
	if err != nil {
		return nil, err
	}
	all, err := s.decode(body)
	if err != nil {
		return nil, err
	}
	switch {
	case len(all) == 0:
		return nil, &InputError{Code: NoEvents, Message: "the body holds no events"}
	case len(all) > MaxEvents:
		return nil, &InputError{Code: TooManyEvents, Message: fmt.Sprintf("the body holds %d events, at most %d are taken at once; split it", len(all), MaxEvents)}
	}
	for i := range all {
		all[i].finish(s.name, deliveryID(w.Header), i)
	}
	return all, nil
}

// find picks the format that was named, or the first that claims the body.
func (w Webhook) find(body []byte) (source, error) {
	if w.Source != "" {
		for _, s := range sources {
			if s.name == w.Source {
				return s, nil
			}
		}
		return source{}, &InputError{Code: UnknownSource, Message: fmt.Sprintf("source %q is unknown; one of %s", w.Source, strings.Join(Sources(), ", "))}
	}
	var fields shape
	if body[0] == '{' {
		if err := unmarshal(body, &fields, ""); err != nil {
			return source{}, err
		}
	}
	for _, s := range sources {
		if s.claims(fields) {
			return s, nil
		}
	}
	return generic, nil
}

// finish sets what does not depend on the format.
func (e *Event) finish(name, delivery string, index int) {
	e.Source = name
	e.Category = NormalizeCategory(e.Category)
	e.bound()
	switch {
	case e.ID != "":
	case e.Fingerprint != "" && !e.StartedAt.IsZero():
		e.ID = fmt.Sprintf("%s:%s:%s", e.Fingerprint, e.Status, e.StartedAt.UTC().Format(time.RFC3339Nano))
	case delivery != "":
		e.ID = fmt.Sprintf("%s#%d", delivery, index)
	default:
		e.ID = rand.Text()
	}
}

// deliveryHeaders carry an id that stays the same when the sender sends a webhook again.
var deliveryHeaders = []string{"Idempotency-Key", "Webhook-Id"}

func deliveryID(header http.Header) string {
	for _, name := range deliveryHeaders {
		if id := header.Get(name); id != "" {
			return cut(id, maxID)
		}
	}
	return ""
}

func invalidUTF8(body []byte) int {
	if utf8.Valid(body) {
		return -1
	}
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// unmarshal decodes JSON and turns its errors into ours; at is the path of data within the body.
func unmarshal(data []byte, v any, at string) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var input *InputError
	switch {
	case errors.As(err, &input):
		if at != "" { // found inside, where the path is not known
			input.Message = at + "." + input.Message
		}
		return input
	case errors.As(err, &wrongType):
		return badField(join(at, wrongType.Field), "must be %s, not %s", kindOf(wrongType.Type.Kind().String()), withArticle(wrongType.Value))
	case errors.As(err, &syntax):
		return badJSON("the body is not JSON: %s at byte %d", syntax.Error(), syntax.Offset)
	default:
		return badJSON("the body cannot be read: %s", err.Error())
	}
}

func join(at, field string) string {
	switch {
	case at == "":
		return cmp.Or(field, "the body")
	case field == "":
		return at
	default:
		return at + "." + field
	}
}

func kindOf(goKind string) string {
	switch goKind {
	case "string":
		return "a string"
	case "struct", "map":
		return "an object"
	case "slice", "array":
		return "an array"
	case "bool":
		return "true or false"
	default:
		return "a number"
	}
}

func withArticle(jsonKind string) string {
	kind, _, _ := strings.Cut(jsonKind, " ") // "number 5" says the value too
	switch kind {
	case "array", "object":
		return "an " + kind
	case "bool":
		return "true or false"
	default:
		return "a " + kind
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
