package server

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"slackrelay/events"
)

// labelMatcher is a condition on a label, in the shape of Alertmanager.
type labelMatcher struct {
	IsEqual bool   `json:"isEqual"`
	IsRegex bool   `json:"isRegex"`
	Name    string `json:"name"`
	Value   string `json:"value"`
}

// UnmarshalJSON implements [json.Unmarshaler]: isEqual is true by default.
func (m *labelMatcher) UnmarshalJSON(data []byte) error {
	type plain labelMatcher
	with := plain{IsEqual: true}
	err := json.Unmarshal(data, &with)
	*m = labelMatcher(with)
	return err //nolint:wrapcheck // it is the reply
}

var labelMatcherText = regexp.MustCompile(`^\s*("(?:[^"\\]|\\.)+"|[a-zA-Z_:][a-zA-Z0-9_:]*)\s*(=~|=|!=|!~)\s*((?s).*?)\s*$`)

// maxFilters bounds the matchers of a filter.
const maxFilters = 50

// parseFilter parses the matchers of a request.
func parseFilter(texts []string) ([]labelFilter, error) {
	if len(texts) > maxFilters {
		return nil, errorf(events.BadField, "filter: %d matchers, at most %d are allowed", len(texts), maxFilters)
	}
	var all []labelFilter
	for _, text := range texts {
		m, err := parseLabelMatcher(text)
		if err != nil {
			return nil, errorf(events.BadField, "%v", err)
		}
		f, err := m.filter()
		if err != nil {
			return nil, errorf(events.BadField, "%v", err)
		}
		all = append(all, f)
	}
	return all, nil
}

// parseLabelMatcher parses a matcher in Alertmanager's syntax, for example severity=~"critical|error".
func parseLabelMatcher(text string) (labelMatcher, error) {
	parts := labelMatcherText.FindStringSubmatch(text)
	if parts == nil {
		return labelMatcher{}, fmt.Errorf("bad matcher format: %s", cutBytes(text, maxQuoted))
	}
	m := labelMatcher{Name: parts[1], Value: parts[3], IsEqual: parts[2][0] == '=', IsRegex: strings.HasSuffix(parts[2], "~")}
	for _, quoted := range []*string{&m.Name, &m.Value} {
		if !strings.HasPrefix(*quoted, `"`) {
			continue
		}
		plain, err := strconv.Unquote(*quoted)
		if err != nil {
			return m, fmt.Errorf("matcher value contains invalid escape sequences or quotes: %s", cutBytes(text, maxQuoted))
		}
		*quoted = plain
	}
	return m, nil
}

// labelFilter is a valid labelMatcher, ready to be used.
type labelFilter struct {
	labelMatcher

	pattern *regexp.Regexp // nil = the value itself
}

// maxLabelPattern bounds a regular expression, in bytes.
const maxLabelPattern = 900

func (m labelMatcher) filter() (labelFilter, error) {
	f := labelFilter{labelMatcher: m}
	if !m.IsRegex {
		return f, nil
	}
	if len(m.Value) > maxLabelPattern {
		return f, fmt.Errorf("regular expression has %d bytes, at most %d are allowed", len(m.Value), maxLabelPattern)
	}
	pattern, err := regexp.Compile("^(?:" + m.Value + ")$")
	if err != nil {
		return f, fmt.Errorf("invalid regular expression %q: %w", cutBytes(m.Value, maxQuoted), err)
	}
	f.pattern = pattern
	return f, nil
}

// matches reports whether a value fulfils the condition.
func (f labelFilter) matches(value string) bool {
	if f.pattern != nil {
		return f.pattern.MatchString(value) == f.IsEqual
	}
	return (value == f.Value) == f.IsEqual
}

// matchAll reports whether labels fulfil all conditions.
func matchAll(filter []labelFilter, labels map[string]string) bool {
	for _, f := range filter {
		if !f.matches(labels[f.Name]) {
			return false
		}
	}
	return true
}

// Fields of events, which are no labels, have names like __title__ in matchers: no alert has labels of such names.
const (
	fieldPrefix = "__"
	labelField  = "label."
)

// matcher returns the relay's matcher for a label, or for a field of events.
func (m labelMatcher) matcher() events.Matcher {
	one := events.Matcher{Field: labelField + m.Name, Not: !m.IsEqual}
	if field, ok := strings.CutPrefix(m.Name, fieldPrefix); ok && strings.HasSuffix(field, fieldPrefix) {
		one.Field = strings.TrimSuffix(field, fieldPrefix)
	}
	value := m.Value
	if m.IsRegex {
		value = anchorStart + value + anchorEnd
		one.Matches = &value
	} else {
		one.Is = &value
	}
	return one
}

// A pattern of Alertmanager must match the whole value.
const (
	anchorStart = "^(?:"
	anchorEnd   = ")$"
)

// labelMatcherOf returns a matcher of the relay in the shape of Alertmanager.
func labelMatcherOf(m events.Matcher) labelMatcher {
	name, isLabel := strings.CutPrefix(m.Field, labelField)
	if !isLabel {
		name = fieldPrefix + m.Field + fieldPrefix
	}
	one := labelMatcher{Name: name, IsEqual: !m.Not, IsRegex: m.Is == nil}
	switch {
	case m.Is != nil:
		one.Value = *m.Is
	case m.Matches == nil:
		quoted := make([]string, len(m.In))
		for i, value := range m.In {
			quoted[i] = regexp.QuoteMeta(value)
		}
		one.Value = strings.Join(quoted, "|")
	default:
		one.Value = wholePattern(*m.Matches)
	}
	return one
}

// wholePattern returns the pattern that must match a whole value where this one must match somewhere in it.
func wholePattern(pattern string) string {
	if inner, ok := strings.CutPrefix(pattern, anchorStart); ok && strings.HasSuffix(inner, anchorEnd) {
		inner = strings.TrimSuffix(inner, anchorEnd)
		if _, err := regexp.Compile(inner); err == nil {
			return inner
		}
	}
	return "(?s:.*)(?:" + pattern + ")(?s:.*)"
}
