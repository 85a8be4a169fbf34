package pipeline

import (
	"regexp"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/store"
)

// Template makes a channel for each value of a label, when an event with that value is first sent to it. A channel that it
// made is an instance.
//
//	pattern, _ := pipeline.ParsePattern("team-{{team}}")
//	pipeline.Template{
//		Pattern: pattern, Values: regexp.MustCompile(`^(?:[a-z0-9-]{1,40})$`), Most: 200, Fallback: "alerts",
//		Make: func(value string) pipeline.Channel { ... },
//	}
type Template struct {
	Pattern  Pattern        // of the names of its instances
	Values   *regexp.Regexp // matches the values that get a channel; it must be anchored
	Most     int64          // how many instances there may be
	Fallback string         // the configured channel of all other events
	// ForgetAfter is how long an instance is kept after its last event.
	ForgetAfter time.Duration
	// Make makes the channel of a value. It must be safe for concurrent use.
	Make func(value string) Channel
}

// Why an event goes to the fallback of a template.
const (
	NoValue      = "no_value" // the event has no such label
	BadValue     = "value"    // the value does not match, or makes no valid name
	FullTemplate = "full"     // the template has as many instances as it may
	TakenName    = "taken"    // another template made a channel of that name
)

// maxName is the length that the name of a channel may have.
const maxName = 63

// InstanceOf returns the instance that an event belongs to; why is "" if there is one. It neither makes the instance nor knows
// whether it may be made.
func (t *Template) InstanceOf(e *events.Event) (instance store.Instance, why string) {
	text, ok := e.Labels[t.Pattern.Label]
	if !ok {
		if text, ok = e.Annotations[t.Pattern.Label]; !ok {
			return store.Instance{}, NoValue
		}
	}
	return t.InstanceFor(normalizeValue(text))
}

// InstanceFor returns the instance of a normalized value; why is "" if there is one.
func (t *Template) InstanceFor(value string) (instance store.Instance, why string) {
	name := t.Pattern.With(value)
	if value == "" || len(name) > maxName || !t.Values.MatchString(value) {
		return store.Instance{}, BadValue
	}
	return store.Instance{Name: name, Template: t.Pattern.String(), Value: value}, ""
}

// InstanceNamed returns the instance of a name; ok is false if no value makes that name.
func (t *Template) InstanceNamed(name string) (instance store.Instance, ok bool) {
	value, ok := t.Pattern.ValueIn(name)
	if !ok || value != normalizeValue(value) {
		return store.Instance{}, false
	}
	instance, why := t.InstanceFor(value)
	return instance, why == ""
}

// normalizeValue returns a value of a label in the form that names of channels have: lower case, with one "-" for each run of
// other characters than a-z and 0-9.
func normalizeValue(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() > maxName {
			break
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}

// Pattern is a text with a placeholder for the value of a label, for example "team-{{team}}".
type Pattern struct {
	Label         string
	before, after string
}

// placeholder is {{label}}, where label is the name of a label.
var placeholder = regexp.MustCompile(`\{\{([A-Za-z_][A-Za-z0-9_.-]{0,62})\}\}`)

// ParsePattern reads a text with one placeholder; ok is false if it has none, or several.
func ParsePattern(text string) (p Pattern, ok bool) {
	found := placeholder.FindAllStringSubmatchIndex(text, -1)
	if len(found) != 1 {
		return Pattern{}, false
	}
	at := found[0]
	p = Pattern{Label: text[at[2]:at[3]], before: text[:at[0]], after: text[at[1]:]}
	return p, !strings.ContainsAny(p.before+p.after, "{}")
}

// String returns the pattern as it is written.
func (p Pattern) String() string { return p.before + "{{" + p.Label + "}}" + p.after }

// With returns the text with a value in place of the placeholder.
func (p Pattern) With(value string) string { return p.before + value + p.after }

// ValueIn returns the value that makes a text; ok is false if none does.
func (p Pattern) ValueIn(text string) (value string, ok bool) {
	rest, begins := strings.CutPrefix(text, p.before)
	value, ends := strings.CutSuffix(rest, p.after)
	return value, begins && ends
}
