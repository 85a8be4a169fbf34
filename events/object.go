package events

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object of a sender whose bodies vary: a field that is missing or of another type than expected reads as
// empty. Values are decoded on access. Senders with a stable format are decoded into structs instead, where a wrong type is
// an error.
//
// The fields are a list, not a map, because most objects are small: a list costs less to make than a map, and hardly more to
// search. What reads all fields must not search for each.
type object []member

// member is a field of an object.
type member struct {
	name  string
	value jsontext.Value
}

// field returns the value of the first field of that name, or nil.
func (o object) field(name string) jsontext.Value {
	for i := range o {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

// has reports whether all these fields exist, whatever their values.
func (o object) has(names ...string) bool {
	for _, name := range names {
		if o.field(name) == nil {
			return false
		}
	}
	return true
}

// at returns the value at a path, or nil.
func (o object) at(path ...string) jsontext.Value {
	value := o.field(path[0])
	for _, name := range path[1:] {
		value = objectOf(value).field(name)
	}
	return value
}

// sorted returns the fields by name.
func (o object) sorted() object {
	return slices.SortedFunc(slices.Values(o), func(a, b member) int { return cmp.Compare(a.name, b.name) })
}

// text returns the string, number (as it is written) or boolean at a path as text; "" for any other value.
func (o object) text(path ...string) string { return textOf(o.at(path...)) }

// child returns the object at a path, or an empty one.
func (o object) child(path ...string) object { return objectOf(o.at(path...)) }

// list returns the items of the array at a path.
func (o object) list(path ...string) []jsontext.Value {
	return slices.Collect(itemsOf(o.at(path...)))
}

// objects returns the objects in the array at a path.
func (o object) objects(path ...string) []object {
	var all []object
	for _, item := range o.list(path...) {
		if fields := objectOf(item); fields != nil {
			all = append(all, fields)
		}
	}
	return all
}

// texts returns the texts in the array at a path.
func (o object) texts(path ...string) []string {
	var all []string
	for _, item := range o.list(path...) {
		if text := textOf(item); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// first returns the text of the first of these fields that is not empty.
func (o object) first(names ...string) string {
	for _, name := range names {
		if text := o.text(name); text != "" {
			return text
		}
	}
	return ""
}

// pairs reads labels from an object of texts, or from an array of [name, value], {"key", "value"} or {"name", "value"}.
func (o object) pairs(path ...string) map[string]string {
	all := map[string]string{}
	for _, m := range o.child(path...) {
		all[m.name] = textOf(m.value)
	}
	for _, item := range o.list(path...) {
		if fields := objectOf(item); fields != nil {
			all[fields.first("key", "name", "tag")] = fields.text("value")
			continue
		}
		if pair := slices.Collect(itemsOf(item)); len(pair) == 2 {
			all[textOf(pair[0])] = textOf(pair[1])
		}
	}
	delete(all, "")
	return all
}

// usualFields is the capacity that objects start with.
const usualFields = 8

// objectOf returns the fields of an object, not nil; nil for any other value.
func objectOf(value jsontext.Value) object {
	if value.Kind() != '{' {
		return nil
	}
	fields := make(object, 0, usualFields)
	for name, inner := range fieldsOf(value) {
		fields = append(fields, member{name, inner})
	}
	return fields
}

// textOf returns a scalar as text; "" for any other value.
func textOf(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		return unquoted(value)
	case '0', 't', 'f':
		return string(value)
	default:
		return ""
	}
}

// unquoted returns the text of a JSON string.
func unquoted(value jsontext.Value) string {
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return interned(inner)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

// internKept caches the latest names and values of labels, which repeat within a webhook and from one to the next.
var internKept [1 << (64 - internShift)]atomic.Pointer[string]

// maxInterned is the length of the longest text in the cache, in bytes.
const maxInterned = 64

// slotOf returns the cache slot of a text, by its length and both its ends. The latest text of a slot replaces the others.
func slotOf(text []byte) *atomic.Pointer[string] {
	hash := uint64(len(text))
	if n := len(text); n >= wordSize {
		hash ^= binary.LittleEndian.Uint64(text) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(text[n-wordSize:]), wordSize)
	} else {
		for _, c := range text {
			hash = hash<<8 | uint64(c)
		}
	}
	return &internKept[hash*fibonacci>>internShift]
}

const (
	wordSize    = 8
	fibonacci   = 0x9e3779b97f4a7c15 // spreads (Knuth, The Art of Computer Programming, volume 3, section 6.4)
	internShift = 64 - 10            // 1024 slots
)

// interned returns a text as a string, the cached one if it is equal.
func interned(text []byte) string {
	if len(text) > maxInterned {
		return string(text)
	}
	slot := slotOf(text)
	if kept := slot.Load(); kept != nil && *kept == string(text) {
		return *kept
	}
	fresh := string(text)
	slot.Store(&fresh)
	return fresh
}

// labels are scalars by name, as text.
type labels map[string]string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (l *labels) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	r := reader{body: value}
	if *l = r.labels(); !r.mismatch {
		return nil
	}
	for name, v := range fieldsOf(value) {
		if kind := v.Kind(); kind == '{' || kind == '[' {
			return &fieldError{below: name, message: "must be a string, a number, true or false"}
		}
	}
	return &fieldError{message: "must be an object of strings, numbers, true or false"}
}

// identifier is a JSON string or number, as text.
type identifier string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (id *identifier) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if !id.set(value) {
		return &fieldError{message: "must be a string or a number"}
	}
	return nil
}

// set sets the identifier from a value; ok is false if that has another type.
func (id *identifier) set(value jsontext.Value) (ok bool) {
	switch value.Kind() {
	case 'n':
	case '"', '0':
		*id = identifier(textOf(value))
	default:
		return false
	}
	return true
}
