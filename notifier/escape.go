package notifier

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"slackrelay/events"
)

// Slack's limits, in characters, with a margin where Slack does not document how it counts
// (https://docs.slack.dev/reference/block-kit/blocks).
const (
	maxHeadline = 300
	maxSection  = 3000
	maxContext  = 2000
	maxFallback = 3500
	maxText     = 3900
)

// escaped makes untrusted text safe for mrkdwn: it escapes the three characters that Slack interprets, removes hidden
// characters ([events.Hidden]), and cuts the result to limit characters, with an ellipsis and never inside an entity.
func escaped(s string, limit int) string {
	if len(s) <= limit && isPlain(s) {
		return s
	}
	var b strings.Builder
	size, fits := 0, 0 // fits: the length of b up to which an ellipsis still has room
	for _, r := range s {
		piece := escapeRune(r)
		n := characters(piece)
		if size+n > limit {
			return b.String()[:fits] + "…"
		}
		b.WriteString(piece)
		size += n
		if size < limit {
			fits = b.Len()
		}
	}
	return b.String()
}

// isPlain reports whether a text is ASCII with nothing to escape or to remove. Most texts are.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < ' ' && c != '\n' && c != '\t') || c > '~' || c == '&' || c == '<' || c == '>' {
			return false
		}
	}
	return true
}

// withoutHidden removes hidden characters.
func withoutHidden(s string) string {
	return strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && events.Hidden(c) {
			return -1
		}
		return c
	}, s)
}

func escapeRune(r rune) string {
	switch {
	case r == '&':
		return "&amp;"
	case r == '<':
		return "&lt;"
	case r == '>':
		return "&gt;"
	case r != '\n' && r != '\t' && events.Hidden(r):
		return ""
	default:
		return string(r)
	}
}

// cutMarkup cuts mrkdwn to limit characters, with an ellipsis and never inside an entity or <...>.
func cutMarkup(s string, limit int) string {
	if characters(s) <= limit {
		return s
	}
	size, fits := 0, 0 // fits: the length of s up to which an ellipsis still has room
	for at := 0; at < len(s); {
		n := pieceOf(s[at:])
		size += characters(s[at : at+n])
		if size > limit {
			break
		}
		at += n
		if size < limit {
			fits = at
		}
	}
	return s[:fits] + "…"
}

// pieceOf returns the length of the unit that a text begins with: an entity, <...>, or one character.
func pieceOf(s string) int {
	const longestEntity = len("&quot;")
	switch s[0] {
	case '&':
		if end := strings.IndexByte(s[:min(len(s), longestEntity)], ';'); end > 0 {
			return end + 1
		}
	case '<':
		if end := strings.IndexByte(s, '>'); end > 0 {
			return end + 1
		}
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// mentionMarkup is the markup for a mention or a channel.
var mentionMarkup = regexp.MustCompile(`<(?:!(?:here|channel|everyone)|!subteam\^[A-Z0-9]+|[@#][A-Z0-9]+)(?:\|[^<>|]*)?>`)

// escapedExceptMentions is escaped, but keeps mentions and channels active.
func escapedExceptMentions(s string, limit int) string {
	var b strings.Builder
	last := 0
	for _, found := range mentionMarkup.FindAllStringIndex(s, -1) {
		b.WriteString(escaped(s[last:found[0]], limit))
		b.WriteString(s[found[0]:found[1]])
		last = found[1]
	}
	b.WriteString(escaped(s[last:], limit))
	return cutMarkup(b.String(), limit)
}

// characters counts UTF-16 code units, the strictest of the ways in which Slack may count.
func characters(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// oneLine replaces each run of white space by a space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// link returns a link in mrkdwn with an untrusted title; only the title if the address is not valid.
func link(address, title string, limit int) string {
	safe := safeURL(address)
	if safe == "" {
		return escaped(oneLine(title), limit)
	}
	return "<" + safe + "|" + escaped(strings.ReplaceAll(oneLine(title), "|", "¦"), limit) + ">"
}

// safeURL returns an address in a form that is safe inside <...>, or "" if it is not valid.
func safeURL(address string) string {
	u, ok := events.ParseLink(address)
	if !ok {
		return ""
	}
	var b strings.Builder
	b.WriteString(u.Scheme) // in lower case: Slack knows no other
	for _, r := range address[len(u.Scheme):] {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '|', r == '<', r == '>', unicode.IsSpace(r), events.Hidden(r):
			b.WriteString(url.PathEscape(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
