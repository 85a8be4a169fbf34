package events

import "strings"

// Bounds of the labels that are made of what nothing else used.
const (
	maxGuessedLabels = 20
	maxGuessedLabel  = 200 // bytes
	labelDepth       = 2
)

// fillLabels keeps the scalars near the top that the event does not have yet, so that nothing that matters is lost.
func (b *guess) fillLabels(e *Event) {
	n := 0
	for i := range b.all {
		s := &b.all[i]
		if s.depth > labelDepth || n == maxGuessedLabels {
			return
		}
		if !b.used[s.path] && b.isLabel(s) && !e.says(s.text) {
			e.setLabel(labelName(s), s.text)
			n++
		}
	}
}

// isLabel reports whether a scalar can be shown as a label: it is short, no secret, and about the event.
func (b *guess) isLabel(s *scalar) bool {
	switch {
	case s.stands, s.aside && !isOfLabels(s), isSecret(s.name), isSecret(s.of):
		return false
	case len(s.text) > maxGuessedLabel, strings.ContainsAny(s.text, "\n<@"), isLink(s.text):
		return false
	default:
		return s.kind != '"' || !isTime(b, s)
	}
}

func isOfLabels(s *scalar) bool { return s.of == "labels" || s.of == "tags" }

// says reports whether the title or the text of an event contains a text of some length.
func (e *Event) says(text string) bool {
	const short = 2
	return len(text) > short && (contains(e.Title, text) || contains(e.Text, text))
}

// labelName returns the name of the label for a scalar: its own among labels, else that of its object and its own.
func labelName(s *scalar) string {
	if isOfLabels(s) {
		return s.path[strings.LastIndexByte(s.path, '.')+1:]
	}
	return strings.ReplaceAll(s.path, ".", "_")
}

// secretNames are parts of the names of fields whose values must not be shown.
var secretNames = []string{
	"token", "secret", "password", "passwd", "apikey", "authorization", "signature", "cookie", "credential", "privatekey", "accesskey",
	"passphrase", "email", "session",
}

func isSecret(name string) bool {
	for _, part := range secretNames {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
