package events

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of the search: what matters is near the top.
const (
	guessDepth  = 4
	guessFields = 500
)

// scalar is a text, number or boolean within a body.
type scalar struct {
	path   string // as the body spells it: data.check.name
	name   string // the letters of its name, in lower case: checkname
	full   string // the names of its object and of itself: check.name
	of     string // the letters of the name of its object; "" = the body itself
	object int    // the number of its object: scalars with the same number are beside each other
	depth  int    // 1 = a field of the body
	kind   jsontext.Kind
	text   string
	stands bool // it stands for an object, whose name or title it is
	aside  bool // it is within an object about something else, such as a person
}

// scalars are the scalars of a body, those near the top first.
type scalars []scalar

// nested is an object that is still to be read.
type nested struct {
	fields object
	path   string
	of     string
	aside  bool
}

// scalarsOf lists the scalars of an object and of the objects in it.
func scalarsOf(o object) scalars {
	all := make(scalars, 0, 2*len(o))
	level := []nested{{fields: o}}
	number := 0
	for depth := 1; depth <= guessDepth && len(level) > 0; depth++ {
		var below []nested
		for _, n := range level {
			number++
			for _, m := range n.fields {
				if len(all) >= guessFields {
					return all
				}
				s := scalar{
					path: dotted(n.path, m.name), name: lettersOf(m.name), of: n.of, object: number, depth: depth, aside: n.aside,
					kind: m.value.Kind(),
				}
				if s.of != "" {
					s.full = s.of + "." + s.name
				}
				all, below = all.read(s, m.value, below)
			}
		}
		level = below
	}
	return all
}

// read adds what a field has, and the object in it to those below.
func (all scalars) read(s scalar, value jsontext.Value, below []nested) (scalars, []nested) {
	switch s.kind {
	case '{':
		inner := objectOf(value)
		below = append(below, nested{inner, s.path, s.name, s.aside || isAside(s.name)})
		for _, name := range standIns {
			if s.text = inner.text(name); s.text != "" {
				s.stands, s.path, s.kind = true, dotted(s.path, name), '"'
				break
			}
		}
	case '[':
		var texts []string
		for item := range itemsOf(value) {
			if fields := objectOf(item); fields != nil {
				return all, append(below, nested{fields, s.path + "[0]", s.name, s.aside || isAside(s.name)})
			}
			texts = append(texts, textOf(item))
		}
		s.text = joined(", ", texts...)
	default:
		s.text = textOf(value)
	}
	return all.add(s), below
}

// standIns are the fields whose text stands for the whole object: {"message": {"text": ...}}, {"check": {"name": ...}}.
var standIns = []string{"text", "title", "name", "displayName", "display_name", "label", "value"}

// add adds a scalar unless it says nothing: a template variable that was left unfilled, or a callback address, which may be a
// secret.
func (all scalars) add(s scalar) scalars {
	if s.text = strings.TrimSpace(s.text); s.text == "" || isPlaceholder(s.text) || strings.HasPrefix(s.name, "callback") {
		return all
	}
	return append(all, s)
}

func dotted(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// words are names of fields, the most reliable first, as [lettersOf] reduces them. "*x" is any name that ends in x, "x*" any
// that begins with x, and "of.x" the field x of an object of that name, even where that is set aside.
type words struct {
	exact    map[string]int
	patterns []string // with their places in the list
	places   []int
}

// namedBy makes words of a text with spaces between them.
func namedBy(list string) words {
	w := words{exact: map[string]int{}}
	for i, word := range strings.Fields(list) {
		if strings.HasPrefix(word, "*") || strings.HasSuffix(word, "*") {
			w.patterns, w.places = append(w.patterns, word), append(w.places, i)
			continue
		}
		w.exact[word] = i
	}
	return w
}

// none is the place of a word that is not in the list.
const none = 1 << 20

// place returns how reliable the name of a scalar is, 0 being the best; none = it is not one of the words.
func (w *words) place(s *scalar) int {
	best := none
	if i, ok := w.exact[s.name]; ok && !s.aside {
		best = i
	}
	if s.of != "" {
		if i, ok := w.exact[s.full]; ok && (!s.aside || isAside(s.of)) {
			best = min(best, i)
		}
	}
	for k, pattern := range w.patterns {
		if w.places[k] < best && s.isCalled(pattern) {
			best = w.places[k]
		}
	}
	return best
}

// isCalled reports whether the name of a scalar has a pattern.
func (s *scalar) isCalled(pattern string) bool {
	name := s.name
	if strings.Contains(pattern, ".") {
		name = s.full
	} else if s.aside {
		return false
	}
	if end, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(name, end)
	}
	return strings.HasPrefix(name, strings.TrimSuffix(pattern, "*"))
}

// beside returns the first scalar of the same object with one of these names; nil if there is none.
func (all scalars) beside(s *scalar, w *words) *scalar {
	for i := range all {
		if other := &all[i]; other.object == s.object && other != s && w.place(other) < none {
			return other
		}
	}
	return nil
}

// isAside reports whether an object is about people, the sender's own configuration and the like: it is not the subject of the
// event.
func isAside(name string) bool {
	return asideNames[name] || slices.ContainsFunc(asideEnds, func(end string) bool { return strings.HasSuffix(name, end) }) ||
		strings.HasPrefix(name, "previous")
}

var asideEnds = []string{"author", "user", "by", "commit", "commits", "metadata", "owner"}

var asideNames = setOf(`
	actor sender account org organization organisation creator pusher committer requester assignee assignees agent person
	meta labels tags annotations changelog avatarurls integration webhook hook webhookmetadata subscription revision
	modifications vcs git group system manager snapshots team workspace installation channel inventory permissions license
	conditions`)

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// lettersOf reduces a name to its letters in lower case: "Problem URL" and "problem_url" become "problemurl".
func lettersOf(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return -1
		}
	}, name)
}

// isPlaceholder reports whether a text is a template variable that the sender left unfilled: $EVENT_TITLE, {EVENT.ID},
// *alertDetails*.
func isPlaceholder(text string) bool {
	if len(text) < 2 || strings.ContainsAny(text, " \n") {
		return false
	}
	inner, end := text[1:], text[len(text)-1]
	switch text[0] {
	case '$':
		return inner == strings.ToUpper(inner) && strings.Trim(inner, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
	case '{':
		return end == '}' && strings.ToUpper(inner) == inner && !strings.Contains(text, `"`)
	case '*':
		return end == '*' && strings.Trim(text, "*") != ""
	default:
		return false
	}
}

// number returns a scalar as a number.
func (s *scalar) number() (n float64, ok bool) {
	n, err := strconv.ParseFloat(s.text, 64)
	return n, err == nil && cmp.Compare(n, n) == 0
}
