package notifier

import (
	"regexp"
	"strings"

	"slackrelay/events"
)

// speaksOfFiring reports whether text and severity of a resolved event are those of its firing: it was resolved after it arrived,
// or its sender repeats them with the resolve.
func (e NotificationEvent) speaksOfFiring() bool {
	switch {
	case !e.isResolved():
		return false
	case e.Status != events.Resolved, e.Source == "alertmanager", e.Source == "grafana":
		return true
	default: // a monitor may have a text of its own for its recovery
		return e.Source == "datadog" && !recovered.MatchString(e.Text)
	}
}

// recovered matches texts that speak of an end.
var recovered = regexp.MustCompile(`(?i)\b(?:recover\w*|resolved|normal|ok|healthy|cleared|no longer|again)\b`)

// body returns the text of an event without the lines at its beginning that the headline says already. The text of a firing is
// left out when it is resolved: it speaks in the present tense of what is over.
func (e NotificationEvent) body() string {
	if e.speaksOfFiring() {
		return ""
	}
	text := strings.TrimSpace(e.Text)
	said := strings.ToLower(titleOf(e.Event))
	for range maxSaidLines {
		line, rest, more := strings.Cut(text, "\n")
		if line = strings.ToLower(oneLine(line)); line != "" && !says(said, line) {
			break
		}
		text = rest
		if !more {
			return ""
		}
	}
	return strings.TrimRight(text, "\n\t ")
}

// maxSaidLines is how many lines of a text may repeat the headline.
const maxSaidLines = 3

// isOver matches titles that tell the end themselves.
var isOver = regexp.MustCompile(`(?i)\b(?:succeeded|success|recovered|resolved?|fixed|passed|closed|dismissed|is (?:up|ok|back|healthy))\b`)

// saysValue is [says] for the value of a label: of web-1:9100, a text that says web-1 says enough, and of host:web-1 too.
func saysValue(text, value string) bool {
	before, after, ok := strings.Cut(value, ":")
	if ok && strings.Trim(after, "0123456789") == "" {
		return says(text, before)
	}
	return says(text, value) || ok && says(text, after)
}

// minSaid is the shortest text of which its place in a headline is no accident, in bytes.
const minSaid = 3

// says reports whether a text contains words, and not as a part of longer ones. Both are in lower case.
func says(text, words string) bool {
	if len(words) < minSaid {
		return false
	}
	for at := 0; ; {
		found := strings.Index(text[at:], words)
		if found < 0 {
			return false
		}
		begin, end := at+found, at+found+len(words)
		if (begin == 0 || !isWord(text[begin-1])) && (end == len(text) || !isWord(text[end])) {
			return true
		}
		at = begin + 1
	}
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c == '_' || c >= 0x80
}

// saysWords reports whether a text contains all words of a name that are not too short to tell.
func saysWords(text, name string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(name), func(c rune) bool { return strings.ContainsRune("-._ /", c) }) {
		if len(word) >= minSaid && !says(text, word) {
			return false
		}
	}
	return true
}
