package events

import (
	"html"
	"regexp"
	"strings"
)

var (
	htmlTag = regexp.MustCompile(`(?s)<(?:/?(?:a|abbr|b|blockquote|body|br|code|div|em|font|h[1-6]|head|hr|html|i|img|li|ol|p|pre|small|` +
		`span|strong|style|sub|sup|table|tbody|td|th|thead|tr|u|ul)\b[^>]*|!--.*?--)>`)
	htmlBreak    = regexp.MustCompile(`(?i)<(?:br|/p|/div|/li|/tr|/h[1-6])\b[^>]*>`)
	markdownLink = regexp.MustCompile(`\[([^\]\n]+)\]\((?:https?://[^)\s]*)\)`)
	markdownMark = regexp.MustCompile("(\\*\\*|__|`)([^*_`\n]+)(\\*\\*|__|`)")
	markdownHead = regexp.MustCompile(`(?m)^#{1,6} `)
	emptyLines   = regexp.MustCompile(`\n[ \t]*\n[ \t\n]*\n`)
)

// maxCleaned is how much of a text is read, in bytes: more than any event keeps by default.
const maxCleaned = 64 << 10

// cleaned returns the plain text of a text whose format nobody knows: HTML and Markdown lose only what is certainly theirs, so that
// plain text stays as it is. A text of a chat tool, whose format is known, keeps its look by [markup] instead.
func cleaned(text string) string {
	if len(text) > maxCleaned {
		text = strings.ToValidUTF8(text[:maxCleaned], "")
	}
	if strings.Contains(text, "<") && htmlTag.MatchString(text) {
		text = htmlTag.ReplaceAllString(htmlBreak.ReplaceAllString(text, "\n"), "")
	}
	if strings.Contains(text, "&") && strings.Contains(text, ";") {
		text = html.UnescapeString(text)
	}
	if strings.ContainsAny(text, "*_`#[") {
		text = markdownLink.ReplaceAllString(text, "$1")
		text = markdownMark.ReplaceAllString(text, "$2")
		text = markdownHead.ReplaceAllString(text, "")
	}
	return strings.TrimSpace(emptyLines.ReplaceAllString(text, "\n\n"))
}
