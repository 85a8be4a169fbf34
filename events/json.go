package events

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// parseBody checks a body in one pass: it must be one JSON object or array in valid UTF-8, without duplicate names in an
// object, and nested at most so deep. It returns the fields of the object, or the items of the array, which point into the
// body.
func parseBody(body []byte, depth int) (fields object, items []jsontext.Value, err error) {
	value := jsontext.Value(bytes.TrimSpace(body))
	if at := deeperThan(value, depth); at >= 0 { // before it is parsed, which goes as deep
		return nil, nil, badJSON("the body is nested more than %d deep at byte %d; nest objects and arrays less", depth, at)
	}
	fields, items, ok := split(value)
	if !ok {
		return nil, nil, faultOf(body)
	}
	return fields, items, nil
}

// split checks a body and returns its fields or items; ok is false unless the body is one object or array.
func split(body jsontext.Value) (fields object, items []jsontext.Value, ok bool) {
	if !body.IsValid() {
		return nil, nil, false
	}
	switch body.Kind() {
	case '{':
		return objectOf(body), nil, true
	case '[':
		return nil, slices.Collect(itemsOf(body)), true
	default:
		return nil, nil, false
	}
}

// faultOf describes the fault of a body that is not one JSON object or array.
func faultOf(body []byte) error {
	if at := invalidUTF8(body); at >= 0 {
		return badJSON("the body is not valid UTF-8 at byte %d; encode it as UTF-8", at)
	}
	if first := bytes.TrimSpace(body); len(first) == 0 || first[0] != '{' && first[0] != '[' {
		return badJSON("the body must be a JSON object or an array of objects")
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if _, err := dec.ReadValue(); err != nil {
		return syntaxFault(err, body)
	}
	dec.ReadToken() //nolint:errcheck // only to find where the rest begins
	return badJSON("the body is not JSON: there is more after its end at byte %d; post one object, or an array of them", dec.InputOffset())
}

// deeperThan returns the offset at which a body is nested deeper than allowed, or -1. It skips brackets within strings.
func deeperThan(body []byte, depth int) int {
	if bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) <= depth {
		return -1
	}
	open := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			if open++; open > depth {
				return i
			}
		case '}', ']':
			open--
		case '"':
			i = endOfString(body, i)
		}
	}
	return -1
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(body []byte) int {
	for i, r := range string(body) {
		if r == utf8.RuneError && !bytes.HasPrefix(body[i:], []byte("\uFFFD")) {
			return i
		}
	}
	return -1
}

// syntaxFault describes the fault of a body that is not valid JSON.
func syntaxFault(err error, body []byte) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badJSON("the body is not JSON: it ends too early, after byte %d; send all of it", len(body))
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return badJSON("the body is not JSON: %s is given twice in one object, at byte %d; give each name once",
			cut(pathOf(syntax.JSONPointer), maxPath), syntax.ByteOffset)
	case errors.As(err, &syntax):
		return badJSON("the body is not JSON: %s at byte %d", cut(syntax.Err.Error(), maxPath), syntax.ByteOffset)
	default:
		return badJSON("the body cannot be read: %s", cut(err.Error(), maxPath))
	}
}

// maxPath is how much of a sender's text an error repeats, in characters.
const maxPath = 100

// lax reads values that have been checked before.
var lax = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// unmarshal decodes a value; its errors are [*InputError]. at is the path of the value within the body.
func unmarshal(value jsontext.Value, v any, at string, options ...json.Options) error {
	err := json.Unmarshal(value, v, append(options, lax)...)
	if err == nil {
		return nil
	}
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return syntaxFault(err, value)
	}
	path := join(at, pathOf(wrong.JSONPointer))
	if fault, ok := errors.AsType[*fieldError](err); ok {
		return badField(cut(join(path, fault.below), maxPath), "%s", fault.message)
	}
	return badField(cut(path, maxPath), "must be %s, not %s", kindOf(wrong.GoType), cmp.Or(jsonKinds[wrong.JSONKind], "that"))
}

// fieldError is a fault that the decoder of a type found.
type fieldError struct {
	below   string // the field within the value; "" = the value itself
	message string
}

// Error implements error.
func (f *fieldError) Error() string { return f.below + " " + f.message }

// pathOf writes a JSON pointer as people do: alerts[0].labels.team.
func pathOf(pointer jsontext.Pointer) string {
	var path strings.Builder
	for name := range pointer.Tokens() {
		if _, err := strconv.Atoi(name); err == nil {
			path.WriteString("[" + name + "]")
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(name)
	}
	return path.String()
}

func join(at, field string) string {
	switch {
	case at == "" && field == "":
		return "the body"
	case at == "":
		return field
	case field == "" || field[0] == '[':
		return at + field
	default:
		return at + "." + field
	}
}

// kindOf names the type that a field must have.
func kindOf(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	return cmp.Or(goKinds[t.Kind()], "a number")
}

// Names of kinds of values in errors. The kinds of Go that are missing are those of numbers.
var (
	goKinds = map[reflect.Kind]string{
		reflect.String: "a string", reflect.Struct: "an object", reflect.Map: "an object", reflect.Slice: "an array",
		reflect.Array: "an array", reflect.Bool: "true or false",
	}
	jsonKinds = map[jsontext.Kind]string{
		'"': "a string", '0': "a number", '{': "an object", '[': "an array", 't': "true or false", 'f': "true or false", 'n': "null",
	}
)
