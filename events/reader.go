package events

import (
	"bytes"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file read JSON that parseBody has checked: it is valid, so that they need to follow its structure only.

// fieldsOf yields the names and values of an object, which point into it; nothing for any other value.
func fieldsOf(value jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		if value.Kind() != '{' {
			return
		}
		for i := skipSpace(value, 1); value[i] != '}'; {
			end := skipValue(value, i)
			name := unquoted(value[i:end])
			i = skipSpace(value, skipSpace(value, end)+1) // the colon
			end = skipValue(value, i)
			if !yield(name, value[i:end:end]) {
				return
			}
			i = nextItem(value, end)
		}
	}
}

// itemsOf yields the items of an array; nothing for any other value.
func itemsOf(value jsontext.Value) iter.Seq[jsontext.Value] {
	return func(yield func(jsontext.Value) bool) {
		if value.Kind() != '[' {
			return
		}
		for i := skipSpace(value, 1); value[i] != ']'; {
			end := skipValue(value, i)
			if !yield(value[i:end:end]) {
				return
			}
			i = nextItem(value, end)
		}
	}
}

// nextItem returns the offset of the next item, or of the closing bracket.
func nextItem(value jsontext.Value, i int) int {
	if i = skipSpace(value, i); value[i] == ',' {
		i = skipSpace(value, i+1)
	}
	return i
}

func skipSpace(value jsontext.Value, i int) int {
	for value[i] == ' ' || value[i] == '\n' || value[i] == '\r' || value[i] == '\t' {
		i++
	}
	return i
}

// skipValue returns the offset after the value that begins at i.
func skipValue(value jsontext.Value, i int) int {
	open := 0
	for ; i < len(value); i++ {
		switch value[i] {
		case '"':
			if i = endOfString(value, i); open == 0 {
				return i + 1
			}
		case '{', '[':
			open++
		case '}', ']':
			if open--; open <= 0 {
				return i + 1 + open // a number, true, false or null ends before the enclosing bracket
			}
		case ',', ' ', '\n', '\r', '\t':
			if open == 0 {
				return i
			}
		}
	}
	return i
}

// endOfString returns the offset of the closing quote of the string that begins at i.
func endOfString(body []byte, i int) int {
	for {
		n := bytes.IndexByte(body[i+1:], '"')
		if n < 0 {
			return len(body)
		}
		i += n + 1
		slashes := 0
		for body[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// reader reads a value in one pass, without reflection: for the sources that send the most.
type reader struct {
	body     jsontext.Value
	at       int
	mismatch bool // a value had another type than expected
}

// fields calls f for each field of an object; f reads the value, or leaves it.
func (r *reader) fields(f func(name string)) {
	r.each('{', '}', func() {
		name := r.text()
		r.at = skipSpace(r.body, r.at) + 1 // the colon
		r.at = skipSpace(r.body, r.at)
		before := r.at
		if f(name); r.at == before {
			r.at = skipValue(r.body, r.at)
		}
	})
}

// items calls f for each item of an array; f reads it.
func (r *reader) items(f func()) { r.each('[', ']', f) }

func (r *reader) each(first, last byte, f func()) {
	if r.body[r.at] != first {
		r.other('n')
		return
	}
	for r.at = skipSpace(r.body, r.at+1); r.body[r.at] != last; r.at = nextItem(r.body, r.at) {
		f()
	}
	r.at++
}

// other skips a value of another type than expected; null is allowed for every type.
func (r *reader) other(allowed byte) {
	r.mismatch = r.mismatch || r.body[r.at] != allowed
	r.at = skipValue(r.body, r.at)
}

// text reads a string.
func (r *reader) text() string {
	if r.body[r.at] != '"' {
		r.other('n')
		return ""
	}
	begin := r.at
	for i := begin + 1; i <= begin+maxInterned; i++ { // nearly all strings are short and have no escapes
		c := r.body[i]
		if c == '"' {
			r.at = i + 1
			return interned(r.body[begin+1 : i])
		}
		if c == '\\' {
			break
		}
	}
	r.at = endOfString(r.body, r.at) + 1
	return unquoted(r.body[begin:r.at])
}

// number reads a number.
func (r *reader) number() float64 {
	begin := r.at
	r.at = skipValue(r.body, r.at)
	n, err := strconv.ParseFloat(string(r.body[begin:r.at]), 64)
	r.mismatch = r.mismatch || err != nil && r.body[begin] != 'n'
	return n
}

// labels reads an object of scalars.
func (r *reader) labels() labels {
	if r.body[r.at] != '{' {
		r.other('n')
		return nil
	}
	all := make(labels, 8)
	r.fields(func(name string) {
		switch r.body[r.at] {
		case '"':
			all[name] = r.text()
		case '{', '[':
			r.mismatch = true
		case 'n':
		default:
			begin := r.at
			r.at = skipValue(r.body, r.at)
			all[name] = string(r.body[begin:r.at])
		}
	})
	return all
}
