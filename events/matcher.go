package events

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Matcher is a condition on one field of an event: exactly one of Is, In and Matches is set. In the file and in JSON:
//
//	{"field": "severity", "in": ["critical", "error"]}
//	{"field": "label.team", "is": "payments", "not": true}
//	{"field": "title", "matches": "disk (full|low)"}
type Matcher struct {
	// Field is one of [Fields], or label.<name>, or header.<name> of the webhook.
	Field string `json:"field" yaml:"field"`
	// Is is what the field must be, letter for letter.
	Is *string `json:"is,omitempty" yaml:"is,omitempty"`
	// In are what it may be.
	In []string `json:"in,omitempty" yaml:"in,omitempty"`
	// Matches is a regular expression that must match somewhere in it (https://github.com/google/re2/wiki/Syntax).
	Matches *string `json:"matches,omitempty" yaml:"matches,omitempty"`
	// Not turns it round.
	Not bool `json:"not,omitempty" yaml:"not,omitempty"`
}

// fields are what a matcher can look at, beside labels and headers.
var fields = map[string]func(e *Event) string{
	"id": func(e *Event) string { return e.ID }, "source": func(e *Event) string { return e.Source }, "sender": func(e *Event) string { return e.Sender },
	"channel": func(e *Event) string { return e.Channel }, "category": func(e *Event) string { return e.Category },
	"severity": func(e *Event) string { return string(e.Severity) }, "status": func(e *Event) string { return string(e.Status) },
	"title": func(e *Event) string { return e.Title }, "text": func(e *Event) string { return e.Text }, "note": func(e *Event) string { return e.Note },
	"fingerprint": func(e *Event) string { return e.Fingerprint },
	"link": func(e *Event) string {
		if len(e.Links) == 0 {
			return ""
		}
		return e.Links[0].URL
	},
}

// Fields are what a matcher can look at, beside label.<name> and header.<name>.
func Fields() []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// CompiledMatcher is a matcher that was checked.
type CompiledMatcher struct {
	Matcher
	value func(e *Event, header http.Header) string
	holds func(value string) bool
}

// maxPattern is how long a regular expression may be.
const maxPattern = 1000

// Compile checks a matcher. The error names the field and says what is wrong.
func (m Matcher) Compile() (CompiledMatcher, error) {
	c := CompiledMatcher{Matcher: m}
	given := 0
	for _, set := range []bool{m.Is != nil, m.In != nil, m.Matches != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return c, fmt.Errorf("field %q needs one of is, in and matches", cut(m.Field, maxPath))
	}
	label, isLabel := strings.CutPrefix(m.Field, "label.")
	header, isHeader := strings.CutPrefix(m.Field, "header.")
	read, known := fields[m.Field]
	switch {
	case isLabel && label != "":
		c.value = func(e *Event, _ http.Header) string { return e.Labels[label] }
	case isHeader && header != "":
		c.value = func(_ *Event, h http.Header) string { return h.Get(header) }
	case known:
		c.value = func(e *Event, _ http.Header) string { return read(e) }
	default:
		return c, fmt.Errorf("field %q is unknown; one of %s, or label.<name>, or header.<name>", cut(m.Field, maxPath), strings.Join(Fields(), ", "))
	}
	switch {
	case m.Is != nil:
		c.holds = func(value string) bool { return value == *m.Is }
	case m.In != nil:
		c.holds = func(value string) bool { return slices.Contains(m.In, value) }
	default:
		pattern, err := compilePattern(*m.Matches)
		if err != nil {
			return c, fmt.Errorf("field %q: %w", m.Field, err)
		}
		c.holds = pattern.MatchString
	}
	return c, nil
}

func compilePattern(text string) (*regexp.Regexp, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes, at most %d are taken", len(text), maxPattern)
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("the pattern is no regular expression: %w", err)
	}
	return pattern, nil
}

// Holds tells whether an event fulfils the condition.
func (c CompiledMatcher) Holds(e *Event, header http.Header) bool {
	return c.holds(c.value(e, header)) != c.Not
}

// String writes a matcher as [ParseMatcher] reads it; a set and a pattern as well as they can be said.
func (m Matcher) String() string {
	switch {
	case m.Is != nil:
		return m.Field + m.operator("=", "!=") + fmt.Sprintf("%q", *m.Is)
	case m.Matches != nil:
		return m.Field + m.operator("=~", "!~") + fmt.Sprintf("%q", *m.Matches)
	default:
		return m.Field + m.operator(" in ", " not in ") + "(" + strings.Join(m.In, ", ") + ")"
	}
}

func (m Matcher) operator(plain, negated string) string {
	if m.Not {
		return negated
	}
	return plain
}

var matcherText = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_.:-]*)\s*(=~|!~|!=|=)\s*(.*?)\s*$`)

// ParseMatcher reads a matcher as Alertmanager writes them: severity=critical, label.team!="core", title=~"disk.*". A
// pattern must match the whole field, as there. A name that is no field is the label of that name.
func ParseMatcher(text string) (Matcher, error) {
	parts := matcherText.FindStringSubmatch(text)
	if parts == nil {
		return Matcher{}, fmt.Errorf("%q is no matcher; write severity=critical, label.team!=core or title=~\"disk.*\"", cut(text, maxPath))
	}
	value := parts[3]
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		value = strings.ReplaceAll(value[1:len(value)-1], `\"`, `"`)
	}
	m := Matcher{Field: parts[1], Not: parts[2][0] == '!'}
	if _, known := fields[m.Field]; !known && !strings.HasPrefix(m.Field, "label.") && !strings.HasPrefix(m.Field, "header.") {
		m.Field = "label." + m.Field
	}
	if parts[2] == "=~" || parts[2] == "!~" {
		value = "^(?:" + value + ")$"
		m.Matches = &value
	} else {
		m.Is = &value
	}
	_, err := m.Compile()
	return m, err
}
