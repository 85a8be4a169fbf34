package events

import (
	"strconv"
	"strings"
	"time"
)

// joined makes one text of parts, leaving out empty ones and repeats of what was said.
func joined(separator string, parts ...string) string {
	var text strings.Builder
	said := map[string]bool{"": true}
	for _, part := range parts {
		if said[part] {
			continue
		}
		said[part] = true
		if text.Len() > 0 {
			text.WriteString(separator)
		}
		text.WriteString(part)
	}
	return text.String()
}

// named makes "name value" of a value that is there.
func named(name, value string) string {
	if value == "" {
		return ""
	}
	return name + " " + value
}

// firstLine is the first line of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// count says how many, in words: "1 commit", "3 commits".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Layouts in which senders write times, beside RFC 3339.
var layouts = []string{time.RFC3339, "2006-01-02T15:04:05.000-0700", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05 -0700"}

// Unix times are told apart by their size: whole seconds are below any milliseconds of this century, and so on.
const (
	maxUnixSeconds = 100_000_000_000
	maxUnixMillis  = maxUnixSeconds * 1000
)

// timeOf reads a time; what is none is left out.
func timeOf(text string) time.Time {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case n <= 0:
			return time.Time{}
		case n < maxUnixSeconds:
			return time.Unix(int64(n), 0).UTC()
		case n < maxUnixMillis:
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
