package events

import (
	"strconv"
	"strings"
	"time"
)

// joined joins parts to one text, without empty ones and repeats.
func joined(separator string, parts ...string) string {
	var text strings.Builder
	seen := map[string]bool{"": true}
	for _, part := range parts {
		if seen[part] {
			continue
		}
		seen[part] = true
		if text.Len() > 0 {
			text.WriteString(separator)
		}
		text.WriteString(part)
	}
	return text.String()
}

// named returns "name value", or "" without a value.
func named(name, value string) string {
	if value == "" {
		return ""
	}
	return name + " " + value
}

// spaced writes a word of an API as people do: "pull request", not "pull_request".
func spaced(word string) string { return strings.ReplaceAll(word, "_", " ") }

// firstLine returns the first line of a text that is not blank.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// count returns a number with its noun: "1 commit", "3 commits".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// layouts are the layouts of senders' times.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05.000-0700", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05 UTC",
	"2006-01-02 15:04:05 -0700",
}

// The unit of a Unix time follows from its size: seconds are smaller than any milliseconds of this century.
const (
	maxUnixSeconds = 100_000_000_000
	maxUnixMillis  = maxUnixSeconds * 1000
)

// timeOf parses a time: a Unix time or one of the layouts. Any other text is the zero time.
func timeOf(text string) time.Time {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case n > 0 && n < maxUnixSeconds:
			return time.Unix(int64(n), 0).UTC()
		case n > 0 && n < maxUnixMillis:
			return time.UnixMilli(int64(n)).UTC()
		default:
			return time.Time{}
		}
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	return time.Time{}
}
