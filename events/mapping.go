package events

import (
	"fmt"
	"regexp"
	"strings"
)

// Mapping is a source in data: how its webhooks are recognised, and expressions for the fields of an event over body (the
// decoded JSON), item (the event's part of it) and header (a function that returns a header's value). Paths like
// body.check.name are expressions too (https://expr-lang.org/docs/language-definition). A missing field of a body reads as
// empty. What a mapping leaves out is looked for under its usual names, as in a body of no known source; see guess.go.
//
//	events.Mapping{Name: "backup", Fields: []string{"job", "state"}, Title: `body.job + " " + body.state`, Severity: `body.level`}
//
// Most sources of the relay are mappings too: the files in the folder mappings.
type Mapping struct {
	// Name is the name of the source, as in `/hooks/{channel}/{name}`.
	Name string `yaml:"name"`
	// Header is a header of every webhook of this source: its name, or its name and how its value begins, like
	// `User-Agent: Backup/`.
	Header string `yaml:"header,omitempty"`
	// Fields are fields that every body of this source has, whatever their values. A path like `check.name` leads into objects,
	// and a number in it into lists: `0.check.name`. `a | b` is one of two fields.
	Fields []string `yaml:"fields,omitempty"`
	// When is an expression that is true for bodies of this source, beside its header and fields.
	When string `yaml:"when,omitempty" unset:"without header and fields: only if the path names the source"`
	// Delivery is the header with an id that stays the same when the sender sends a webhook again.
	Delivery string `yaml:"delivery,omitempty"`
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

// check reports what is wrong with the parts of a mapping that are no expressions.
func (m Mapping) check(fault func(field string, err error)) {
	if !sourceName.MatchString(m.Name) {
		fault("name", fmt.Errorf("%q is not a valid name; use 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or a digit", m.Name))
	}
	for i, alternatives := range m.Fields {
		for path := range strings.SplitSeq(alternatives, "|") {
			path = strings.TrimSpace(path)
			if strings.HasPrefix(path, ".") || strings.HasSuffix(path, ".") || strings.Contains(path, "..") || path == "" {
				fault(fmt.Sprintf("fields[%d]", i), fmt.Errorf("%q is not a path; name a field, like state or check.name", path))
			}
		}
	}
}

// fieldCode is an expression of a mapping and the field that it sets.
type fieldCode struct {
	name, code string
	set        func(e *Event, value string)
}

// expressions returns the expressions for the fields of an event.
func (m Mapping) expressions() []fieldCode {
	all := []fieldCode{
		{"category", m.Category, func(e *Event, v string) { e.Category = v }},
		{"severity", m.Severity, (*Event).setSeverity},
		{"status", m.Status, (*Event).setStatus},
		{"title", m.Title, func(e *Event, v string) { e.Title = cleaned(v) }},
		{"text", m.Text, func(e *Event, v string) { e.Text = cleaned(v) }},
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
