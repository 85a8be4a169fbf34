package events

import (
	"cmp"
	"slices"
	"strings"
)

// guessed are the fields of an event, guessed from a body of unknown format.
type guessed struct {
	title, text, severity, status, link string
	category                            string // from a field whose name means a category
	kind                                string // from a field whose name often means one
}

// Bounds of the search: the important fields are near the top.
const (
	guessDepth  = 3
	guessFields = 500
)

// guess reads a body by the names of its fields. It returns nothing for a body that has only fields of the generic format:
// those are explicit.
func guess(fields object) guessed {
	foreign := false
	for _, m := range fields {
		foreign = foreign || !genericFields[strings.ToLower(m.name)]
	}
	if !foreign {
		return guessed{}
	}
	found := flatten(fields)
	kind := either(found.top().best(kindWords, anyText), found.best([]string{"event", "type"}, anyText))
	g := guessed{
		title: found.best(titleWords, anyText), severity: found.top().best(severityWords, isSeverity),
		status: found.top().best(statusWords, isStatus),
		link:   found.top().best(linkWords, isLink), category: found.best(categoryWords, anyText), kind: kind,
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

// Names of fields, the most reliable first, reduced to lower-case letters. "*x" is any name that ends in x, "x*" any name
// that begins with x.
var (
	titleWords = []string{
		"title", "*title", "summary", "headline", "alertname", "checkname", "monitorname", "rulename", "problemname", "incidentname",
		"policyname",
		"alertmessage", "subject", "message", "*message", "*msg", "msg", "name", "monitor", "service", "check", "resourcename", "description",
		"*description",
		"text",
	}
	textWords = []string{
		"text", "longdescription", "*description", "description", "details", "detail", "message", "*message", "body", "incidentreason", "info",
		"notes",
		"content",
	}
	severityWords = []string{
		"severity", "*severity", "severity*", "*severitystring", "criticality", "priority", "urgency", "level",
		"importancelevel", "alertlevel",
	}
	statusWords = []string{
		"status", "state", "currentstate", "*status", "*statusstring", "*state", "actiontype", "eventtype", "event",
		"action", "type",
	}
	linkWords     = []string{"link", "permalink", "htmlurl", "weburl", "*dashboardlink", "detailsurl", "*detailsurl", "*link", "url", "*url"}
	categoryWords = []string{"category", "alertname", "checkname", "monitorname", "rulename", "policyname", "alerttype", "monitor"}
	kindWords     = []string{"eventtype", "event", "type", "actiontype", "rule", "name", "service"}
)

// aside are objects about people and the like: their names are not the subject of the event.
var aside = map[string]bool{
	"user": true, "actor": true, "sender": true, "author": true, "owner": true, "account": true, "org": true, "organization": true,
	"creator": true,
	"meta":    true, "metadata": true, "labels": true, "changelog": true, "avatarurls": true,
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
			for _, m := range fields.sorted() {
				plain := lettersOf(m.name)
				if len(all) >= guessFields {
					return all
				}
				if inner := objectOf(m.value); inner != nil && !isAside(plain) {
					all = all.add(plain, cmp.Or(inner.text("text"), inner.text("title")), depth) // {"message": {"text": ...}}
					below = append(below, inner)
					continue
				}
				all = all.add(plain, textOf(m.value), depth)
			}
		}
		level = below
	}
	return all
}

func (f found) add(name, text string, depth int) found {
	if text = strings.TrimSpace(text); text == "" || isPlaceholder(text) || strings.HasPrefix(name, "callback") {
		return f // a callback address may be a secret
	}
	return append(f, field{name: name, text: text, depth: depth})
}

// best returns the text of the best field: the one nearest the top, then the one with the most reliable name.
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

// top returns the texts of the outermost object: deeper ones may be about something else.
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
		return end == '*'
	default:
		return false
	}
}
