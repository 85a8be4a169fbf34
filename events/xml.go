package events

import (
	"bytes"
	"encoding/xml"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a body in XML; what is beyond them is left out.
const (
	maxXMLDepth = 8
	maxXMLItems = 500
)

// element is an element of XML.
type element struct {
	name   string
	text   strings.Builder
	fields object
}

// objectOfXML returns the fields of the outermost element of a body in XML: its attributes and the elements in it, each by the name
// without its namespace, the first of several of the same name. It returns nil for any other body.
func objectOfXML(body []byte) object {
	if len(body) == 0 || body[0] != '<' || isHTML(body) {
		return nil
	}
	decoder := xml.NewDecoder(bytes.NewReader(body))
	decoder.Strict = false
	open := []*element{{}}
	for range maxXMLItems {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		inner := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if len(open) > maxXMLDepth {
				return nil
			}
			next := &element{name: t.Name.Local}
			for _, attribute := range t.Attr {
				next.set(attribute.Name.Local, quoted(strings.ToValidUTF8(attribute.Value, "\uFFFD")))
			}
			open = append(open, next)
		case xml.CharData:
			inner.text.Write(t)
		case xml.EndElement:
			if len(open) > 1 {
				open = open[:len(open)-1]
				open[len(open)-1].set(inner.name, inner.value())
			}
		}
	}
	for i := len(open) - 1; i > 0; i-- { // what was not closed
		open[i-1].set(open[i].name, open[i].value())
	}
	if len(open[0].fields) == 0 {
		return nil
	}
	return objectOf(open[0].fields[0].value)
}

// isHTML reports whether a body begins with an element of HTML.
func isHTML(body []byte) bool {
	const doctype = "<!doctype"
	if len(body) >= len(doctype) && strings.EqualFold(string(body[:len(doctype)]), doctype) {
		return true
	}
	at := htmlTag.FindIndex(body)
	return at != nil && at[0] == 0 && body[1] != '!'
}

// set adds a field, unless the element has one of that name.
func (e *element) set(name string, value jsontext.Value) {
	if e.fields.field(name) == nil {
		e.fields = append(e.fields, member{name, value})
	}
}

// value returns the element as JSON: its text, or an object if it has more.
func (e *element) value() jsontext.Value {
	text := quoted(strings.ToValidUTF8(strings.TrimSpace(e.text.String()), "\uFFFD"))
	if len(e.fields) == 0 {
		return text
	}
	if string(text) != `""` {
		e.set("text", text)
	}
	var b bytes.Buffer
	for i, m := range e.fields {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(quoted(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}
