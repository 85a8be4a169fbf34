package events

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// guessed is what the fields of a body look like whose format nobody knows.
type guessed struct {
	title, text, severity, status, link string
	category                            string // by a field that is surely one
	kind                                string // by a field that may be one
}

// Bounds of the search: what matters is said near the top.
const (
	guessDepth  = 3
	guessFields = 500
)

// guess reads a body by the names of its fields. It guesses nothing of one that has only the fields of the generic
// format: that one says what it means.
func guess(raw jsontext.Value) guessed {
	fields := objectOf(raw)
	foreign := false
	for name := range fields {
		foreign = foreign || !genericFields[strings.ToLower(name)]
	}
	if !foreign {
		return guessed{}
	}
	found := flatten(fields)
	kind := either(found.top().best(kindWords, anyText), found.best([]string{"event", "type"}, anyText))
	g := guessed{
		title: found.best(titleWords, anyText), severity: found.top().best(severityWords, isSeverity), status: found.top().best(statusWords, isStatus),
		link: found.top().best(linkWords, isLink), category: found.best(categoryWords, anyText), kind: kind,
	}
	g.text = found.best(textWords, func(text string) bool { return text != g.title })
	if i := strings.LastIndexByte(g.severity, '_'); i >= 0 { // ALERT_CRITICALITY_LEVEL_WARNING
		g.severity = g.severity[i+1:]
	}
	if title := found.top().best(titleWords, anyText); title == "" && kind != g.title {
		g.title = joined(": ", kind, g.title)
	}
	return g
}

// The words by which fields are known, the surest first, in lower case and without anything but letters. "*x" is any name
// that ends in x, "x*" one that begins with it.
var (
	titleWords = []string{
		"title", "*title", "summary", "headline", "alertname", "checkname", "monitorname", "rulename", "problemname", "incidentname", "policyname",
		"alertmessage", "subject", "message", "*message", "*msg", "msg", "name", "monitor", "service", "check", "resourcename", "description", "*description",
		"text",
	}
	textWords = []string{
		"text", "longdescription", "*description", "description", "details", "detail", "message", "*message", "body", "incidentreason", "info", "notes",
		"content",
	}
	severityWords = []string{"severity", "*severity", "severity*", "*severitystring", "criticality", "priority", "urgency", "level", "importancelevel", "alertlevel"}
	statusWords   = []string{"status", "state", "currentstate", "*status", "*statusstring", "*state", "actiontype", "eventtype", "event", "action", "type"}
	linkWords     = []string{"link", "permalink", "htmlurl", "weburl", "*dashboardlink", "detailsurl", "*detailsurl", "*link", "url", "*url"}
	categoryWords = []string{"category", "alertname", "checkname", "monitorname", "rulename", "policyname", "alerttype", "monitor"}
	kindWords     = []string{"eventtype", "event", "type", "actiontype", "rule", "name", "service"}
)

// people and the like have names that are not what it is about.
var aside = map[string]bool{
	"user": true, "actor": true, "sender": true, "author": true, "owner": true, "account": true, "org": true, "organization": true, "creator": true,
	"meta": true, "metadata": true, "labels": true, "changelog": true, "avatarurls": true,
}

func isAside(name string) bool {
	return aside[name] || strings.HasSuffix(name, "author") || strings.HasSuffix(name, "user") || strings.HasSuffix(name, "by")
}

// field is a text within a body.
type field struct {
	name, text string
	depth      int
}

type found []field

// flatten lists the texts of an object, those near the top first, in the order of their names.
func flatten(o object) found {
	var all found
	level := []object{o}
	for depth := 1; depth <= guessDepth && len(level) > 0; depth++ {
		var below []object
		for _, fields := range level {
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				value, plain := fields[name], lettersOf(name)
				if len(all) >= guessFields {
					return all
				}
				if inner := objectOf(value); inner != nil && !isAside(plain) {
					all = all.add(plain, cmp.Or(inner.text("text"), inner.text("title")), depth) // {"message": {"text": ...}}
					below = append(below, inner)
					continue
				}
				all = all.add(plain, textOf(value), depth)
			}
		}
		level = below
	}
	return all
}

func (f found) add(name, text string, depth int) found {
	if text = strings.TrimSpace(text); text == "" || isPlaceholder(text) || strings.HasPrefix(name, "callback") {
		return f // a place to call back may be a secret
	}
	return append(f, field{name: name, text: text, depth: depth})
}

// best is the text of the best field there is: one nearer the top wins, then one whose name is surer.
func (f found) best(words []string, fits func(text string) bool) string {
	for depth := 1; depth <= guessDepth; depth++ {
		for _, word := range words {
			for _, candidate := range f {
				if candidate.depth == depth && isCalled(candidate.name, word) && fits(candidate.text) {
					return candidate.text
				}
			}
		}
	}
	return ""
}

// top are the texts of the object itself: deeper ones may be about something else.
func (f found) top() found {
	return slices.DeleteFunc(slices.Clone(f), func(candidate field) bool { return candidate.depth != 1 })
}

func isCalled(name, word string) bool {
	switch {
	case strings.HasPrefix(word, "*"):
		return strings.HasSuffix(name, word[1:])
	case strings.HasSuffix(word, "*"):
		return strings.HasPrefix(name, word[:len(word)-1])
	default:
		return name == word
	}
}

func anyText(string) bool { return true }

func isSeverity(text string) bool {
	_, known := severities[strings.ToLower(text[strings.LastIndexByte(text, '_')+1:])]
	return known
}

func isStatus(text string) bool {
	_, known := statuses[strings.ToLower(text)]
	return known
}

// lettersOf is a name in lower case without anything but letters: "Problem URL" and "problem_url" are problemurl.
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

// isPlaceholder tells a variable of a sender's template that it did not fill in: $EVENT_TITLE, {EVENT.ID}, *alertDetails*.
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
		return end == '*'
	default:
		return false
	}
}
