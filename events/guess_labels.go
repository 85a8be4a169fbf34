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
		if s.stands || b.used[s.path] || isSecret(s.name) || isSecret(s.of) || len(s.text) > maxGuessedLabel || isLink(s.text) ||
			strings.ContainsAny(s.text, "\n<") || strings.Contains(s.text, "@") || len(s.text) > 2 && (contains(e.Title, s.text) || contains(e.Text, s.text)) {
			continue
		}
		if s.kind == '"' && isTime(b, s) || s.aside && s.of != "labels" && s.of != "tags" {
			continue
		}
		e.setLabel(labelName(s), s.text)
		n++
	}
}

// labelName returns the name of the label for a scalar: its own among labels, else that of its object and its own.
func labelName(s *scalar) string {
	if s.of == "labels" || s.of == "tags" {
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
