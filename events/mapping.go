package events

import (
	"fmt"
	"regexp"

	"github.com/expr-lang/expr"
)

// Mapping is a source that operators define: expressions for the fields of an event over body (the decoded JSON), item (the
// event's part of it) and header (a function that returns a header's value). Paths like body.check.name are expressions too
// (https://expr-lang.org/docs/language-definition). A missing field reads as empty. Title or Text must be set.
//
//	events.Mapping{Name: "backup", When: `body.job != nil`, Title: `body.job + " " + body.state`, Severity: `body.level`}
type Mapping struct {
	Name   string // of the source, as in /hooks/{channel}/{name}
	When   string // true for a body of this source; "" = only webhooks that name the source
	Events string // a list with an item for each event; "" = the body, or each item of a body that is a list

	Category, Severity, Status, Title, Text, Link, ID, Fingerprint, StartedAt string

	Labels []MappedLabel
}

// MappedLabel is the name of a label and the expression for its value.
type MappedLabel struct {
	Name, Value string
}

var sourceName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// compiledMapping is a valid mapping, ready to use.
type compiledMapping struct {
	when, events *expression
	fields       []mappedField
}

type mappedField struct {
	set   func(e *Event, value string)
	value *expression
}

// source compiles a mapping.
func (m Mapping) source() (source, error) {
	if !sourceName.MatchString(m.Name) {
		return source{}, fmt.Errorf("source %q: the name is not valid; use 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or a digit",
			m.Name)
	}
	c := compiledMapping{}
	var err error
	compile := func(field, code string) *expression {
		if code == "" || err != nil {
			return nil
		}
		compiled, fault := compileExpression(code, expr.AllowUndefinedVariables())
		if fault != nil {
			err = fmt.Errorf("source %s: %s: %w", m.Name, field, fault)
		}
		return compiled
	}
	c.when, c.events = compile("when", m.When), compile("events", m.Events)
	for _, f := range m.fields() {
		if compiled := compile(f.name, f.code); compiled != nil {
			c.fields = append(c.fields, mappedField{set: f.set, value: compiled})
		}
	}
	if err == nil && m.Title == "" && m.Text == "" {
		err = fmt.Errorf("source %s: title or text is needed; set one of them", m.Name)
	}
	return source{name: m.Name, claims: c.claims, decode: c.decode}, err
}

type fieldCode struct {
	name, code string
	set        func(e *Event, value string)
}

func (m Mapping) fields() []fieldCode {
	all := []fieldCode{
		{"category", m.Category, func(e *Event, v string) { e.Category = v }},
		{"severity", m.Severity, (*Event).setSeverity},
		{"status", m.Status, (*Event).setStatus},
		{"title", m.Title, func(e *Event, v string) { e.Title = v }},
		{"text", m.Text, func(e *Event, v string) { e.Text = v }},
		{"link", m.Link, func(e *Event, v string) { e.addLink("Link", "link", v) }},
		{"id", m.ID, func(e *Event, v string) { e.ID = v }},
		{"fingerprint", m.Fingerprint, func(e *Event, v string) { e.Fingerprint = v }},
		{"started_at", m.StartedAt, func(e *Event, v string) { e.StartedAt = timeOf(v) }},
	}
	for _, l := range m.Labels {
		all = append(all, fieldCode{"labels." + l.Name, l.Value, func(e *Event, v string) { e.setLabel(l.Name, v) }})
	}
	return all
}

func (c compiledMapping) claims(in input) bool {
	if c.when == nil {
		return false
	}
	return c.when.truth(newMappingEnv(in, decoded(in.body)))
}

func (c compiledMapping) decode(in input) ([]Event, error) {
	body := decoded(in.body)
	items := []any{body}
	if c.events != nil {
		list, ok := c.events.value(newMappingEnv(in, body)).([]any)
		if !ok {
			return nil, badField("the body", "has no list of events; check the source's expression for them")
		}
		items = list
	} else if list, ok := body.([]any); ok {
		items = list
	}
	return each(items, in.limits, func(item any, i int) (Event, error) {
		env := newMappingEnv(in, body)
		env["item"] = item
		var event Event
		for _, f := range c.fields {
			f.set(&event, f.value.text(env))
		}
		if event.Title == "" && event.Text == "" {
			return Event{}, badField(fmt.Sprintf("event %d", i+1), "has neither a title nor a text; check the source's expressions")
		}
		return event, nil
	})
}

// newMappingEnv returns the variables of a mapping's expressions.
func newMappingEnv(in input, body any) map[string]any {
	return map[string]any{"body": body, "item": body, "header": in.header.Get}
}
