package events

import (
	"errors"
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
	// Name is the name of the source, as in `/hooks/{channel}/{name}`.
	Name string `yaml:"name"`
	// When is an expression that is true for bodies of this source.
	When string `yaml:"when,omitempty" unset:"only if the path names the source"`
	// Events is an expression for a list with one item for each event.
	Events string `yaml:"events,omitempty" unset:"the body is one event"`
	// Category is an expression for the category of the event.
	Category string `yaml:"category,omitempty"`
	// Severity is an expression for its severity.
	Severity string `yaml:"severity,omitempty"`
	// Status is an expression for its status: firing, resolved or none.
	Status string `yaml:"status,omitempty"`
	// Title is an expression for its title.
	Title string `yaml:"title,omitempty"`
	// Text is an expression for its text.
	Text string `yaml:"text,omitempty"`
	// Link is an expression for a link.
	Link string `yaml:"link,omitempty"`
	// ID is an expression for its id. Events with the same id are duplicates.
	ID string `yaml:"id,omitempty"`
	// Fingerprint is an expression for what an alert and its resolve have in common.
	Fingerprint string `yaml:"fingerprint,omitempty"`
	// StartedAt is an expression for the time when it began.
	StartedAt string `yaml:"started_at,omitempty"`
	// Labels are labels, each with a name and an expression for its value.
	Labels []MappedLabel `yaml:"labels,omitempty"`
}

// MappedLabel is the name of a label and the expression for its value.
type MappedLabel struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
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
func (m Mapping) source(fault func(field string, err error)) source {
	if !sourceName.MatchString(m.Name) {
		fault("name", fmt.Errorf("%q is not a valid name; use 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or a digit", m.Name))
	}
	compile := func(field, code string) *expression {
		if code == "" {
			return nil
		}
		compiled, err := compileExpression(code, expr.AllowUndefinedVariables())
		fault(field, err)
		return compiled
	}
	c := compiledMapping{when: compile("when", m.When), events: compile("events", m.Events)}
	for _, f := range m.fields() {
		if compiled := compile(f.name, f.code); compiled != nil {
			c.fields = append(c.fields, mappedField{set: f.set, value: compiled})
		}
	}
	if m.Title == "" && m.Text == "" {
		fault("title", errors.New("is empty, and so is text; set one of them"))
	}
	return source{name: m.Name, claims: c.claims, decode: c.decode}
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
