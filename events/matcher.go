package events

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Matcher is a condition on one field of an event: exactly one of Is, In and Matches must be set. In YAML and JSON:
//
//	{"field": "severity", "in": ["critical", "error"]}
//	{"field": "label.team", "is": "payments", "not": true}
//	{"field": "title", "matches": "disk (full|low)"}
type Matcher struct {
	// Field is one of [Fields], or label.<name>, or header.<name> of the webhook.
	Field string `json:"field" yaml:"field"`
	// Is is the value that the field must have, case-sensitive.
	Is *string `json:"is,omitempty" yaml:"is,omitempty"`
	// In lists the values that the field may have, case-sensitive.
	In []string `json:"in,omitempty" yaml:"in,omitempty"`
	// Matches is a regular expression that must match somewhere in the field (https://github.com/google/re2/wiki/Syntax).
	Matches *string `json:"matches,omitempty" yaml:"matches,omitempty"`
	// Not negates the condition.
	Not bool `json:"not,omitempty" yaml:"not,omitempty"`
}

// Equal reports whether two matchers are the same.
func (m Matcher) Equal(other Matcher) bool {
	return m.Field == other.Field && m.Not == other.Not && slices.Equal(m.In, other.In) &&
		equalTexts(m.Is, other.Is) && equalTexts(m.Matches, other.Matches)
}

func equalTexts(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// fields are the fields of an event that a matcher can name, beside labels and headers.
var fields = map[string]func(e *Event) string{
	"id":          func(e *Event) string { return e.ID },
	"source":      func(e *Event) string { return e.Source },
	"sender":      func(e *Event) string { return e.Sender },
	"channel":     func(e *Event) string { return e.Channel },
	"category":    func(e *Event) string { return e.Category },
	"severity":    func(e *Event) string { return string(e.Severity) },
	"status":      func(e *Event) string { return string(e.Status) },
	"title":       func(e *Event) string { return e.Title },
	"text":        func(e *Event) string { return e.Text },
	"note":        func(e *Event) string { return e.Note },
	"fingerprint": func(e *Event) string { return e.Fingerprint },
	"link": func(e *Event) string {
		if len(e.Links) == 0 {
			return ""
		}
		return e.Links[0].URL
	},
}

// Fields returns the names of the fields that a matcher can have, in order, beside label.<name> and header.<name>.
func Fields() []string {
	return slices.Sorted(maps.Keys(fields))
}

// CompiledMatcher is a valid matcher, ready to use. [Matcher.Compile] makes it.
type CompiledMatcher struct {
	Matcher
	value   func(e *Event, header http.Header) string
	accepts func(value string) bool
}

// maxPattern is the length that a regular expression may have, in bytes.
const maxPattern = 1000

// Compile checks a matcher. The error names the field and the fault.
func (m Matcher) Compile() (CompiledMatcher, error) {
	c := CompiledMatcher{Matcher: m}
	given := 0
	for _, set := range []bool{m.Is != nil, m.In != nil, m.Matches != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return c, fmt.Errorf("field %q needs one of is, in and matches; set exactly one", cut(m.Field, maxPath))
	}
	if c.value = m.reader(); c.value == nil {
		return c, fmt.Errorf("field %q is unknown; use one of %s, label.<name> or header.<name>", cut(m.Field, maxPath),
			strings.Join(Fields(), ", "))
	}
	switch {
	case m.Is != nil:
		c.accepts = func(value string) bool { return value == *m.Is }
	case m.In != nil:
		c.accepts = func(value string) bool { return slices.Contains(m.In, value) }
	default:
		pattern, err := compilePattern(*m.Matches)
		if err != nil {
			return c, fmt.Errorf("field %q: %w", m.Field, err)
		}
		c.accepts = pattern.MatchString
	}
	return c, nil
}

// reader returns the function that reads the matcher's field; nil = there is no such field.
func (m Matcher) reader() func(e *Event, header http.Header) string {
	if label, ok := strings.CutPrefix(m.Field, "label."); ok && label != "" {
		return func(e *Event, _ http.Header) string { return e.Labels[label] }
	}
	if name, ok := strings.CutPrefix(m.Field, "header."); ok && name != "" {
		return func(_ *Event, header http.Header) string { return header.Get(name) }
	}
	read, known := fields[m.Field]
	if !known {
		return nil
	}
	return func(e *Event, _ http.Header) string { return read(e) }
}

func compilePattern(text string) (*regexp.Regexp, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("matches has %d bytes, at most %d are allowed; shorten the pattern", len(text), maxPattern)
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("matches is not a valid regular expression: %w; use the syntax of https://github.com/google/re2/wiki/Syntax", err)
	}
	return pattern, nil
}

// Matches reports whether an event fulfils the condition. The headers are those of its webhook; nil = none.
func (c CompiledMatcher) Matches(e *Event, header http.Header) bool {
	return c.accepts(c.value(e, header)) != c.Not
}

// String writes a matcher in the syntax of [ParseMatcher], as far as that can express it: In has a notation of its own, and
// a pattern is not anchored.
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

// ParseMatcher parses a matcher in Alertmanager's syntax: severity=critical, label.team!="core", title=~"disk.*". As there, a
// pattern must match the whole value. A name that is not one of [Fields] is the name of a label.
func ParseMatcher(text string) (Matcher, error) {
	parts := matcherText.FindStringSubmatch(text)
	if parts == nil {
		return Matcher{}, fmt.Errorf("%q is not a valid matcher; write severity=critical, label.team!=core or title=~\"disk.*\"",
			cut(text, maxPath))
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
