package events

import (
	"regexp"
	"strings"
)

// markdown converts the Markdown of a sender to mrkdwn, and adds its links to those of the event.
func (e *Event) markdown(text string) string {
	if !strings.ContainsAny(text, "*_~`#[<>&\\-+") {
		return text
	}
	return markup{marks: formatted, links: &e.Links}.markdown(withoutHTML(cut(text, maxMarkup)))
}

var (
	comments  = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
	imageTags = regexp.MustCompile(`(?i)<img\s[^<>]*?src\s*=\s*["']?([^"'\s<>]+)[^<>]*>`)
	// hiddenTags are the tags that GitHub and GitLab allow in Markdown and that mean nothing in a message.
	hiddenTags = regexp.MustCompile(`(?i)</?(?:details|summary|sub|sup|kbd|blockquote|h[1-6]|center|picture|source|` +
		`dl|dt|dd|thead|th|hr|tt|ins|q)(?:\s[^<>]*|/)?>`)
)

// withoutHTML turns the HTML in a Markdown text into Markdown, except in code.
func withoutHTML(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	blocks := strings.Split(comments.ReplaceAllString(text, ""), fence)
	for i := 0; i < len(blocks); i += 2 {
		spans := strings.Split(blocks[i], "`")
		for j := 0; j < len(spans); j += 2 {
			span := imageTags.ReplaceAllString(spans[j], "![]($1)")
			spans[j] = markdownOfHTML(hiddenTags.ReplaceAllString(span, ""))
		}
		blocks[i] = strings.Join(spans, "`")
	}
	return strings.Join(blocks, fence)
}
