package events

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// markup converts the text formats of other chat tools to mrkdwn. Texts are escaped where they are shown, so an address within a
// text is not a link there: links get it instead. It reads every mark of a format, so a text of an unknown format would lose
// characters that are no marks: see [cleaned].
type markup struct {
	marks markupMarks
	links *[]Link // nil = addresses are not kept
}

// markupMarks are what mrkdwn puts around a text of that kind; "" leaves it plain.
type markupMarks struct{ bold, italic, strike, code string }

var (
	formatted = markupMarks{bold: "*", italic: "_", strike: "~", code: "`"}
	plainOnly = markupMarks{}
)

const fence = "```"

// maxMarkup is how many characters of a text are searched for markup; the rest is not read.
const maxMarkup = 40_000

// markdown converts Markdown, as Discord, Microsoft Teams and Mattermost write it. It takes time in proportion to the text.
func (m markup) markdown(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, fence) {
		if i%2 == 1 { // a block of code, to the end of the text if it is not closed
			if language, rest, ok := strings.Cut(part, "\n"); ok && !strings.Contains(language, " ") {
				part = rest
			}
			b.WriteString(fence + "\n" + strings.Trim(part, "\n") + "\n" + fence)
			continue
		}
		for j, line := range strings.Split(part, "\n") {
			if j > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(m.line(strings.TrimRight(line, " \r\t")))
		}
	}
	return emptyLines.ReplaceAllString(strings.TrimSpace(b.String()), "\n\n")
}

var (
	heading     = regexp.MustCompile(`^\s{0,3}#{1,6}\s+(.*?)[\s#]*$`)
	bullet      = regexp.MustCompile(`^(\s*)[-*+]\s+`)
	subtext     = regexp.MustCompile(`^-#\s+`) // of Discord
	inlineLinks = regexp.MustCompile(`!?\[([^\[\]]*)\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"]*")?\s*\)`)
	autoLinks   = regexp.MustCompile(`<(https?://[^\s<>|]+)>`)
	boldText    = regexp.MustCompile(`\*\*([^\s*](?:[^*]*[^\s*])?)\*\*`)
	italicText  = regexp.MustCompile(`\*([^\s*](?:[^*]*[^\s*])?)\*`)
	strikeText  = regexp.MustCompile(`~~([^\s~](?:[^~]*[^\s~])?)~~`)
	backslashes = regexp.MustCompile("\\\\([\\\\`*_{}\\[\\]()#+.!~|>-])")
)

// line converts a line without blocks of code.
func (m markup) line(line string) string {
	isHeading := heading.MatchString(line)
	line = heading.ReplaceAllString(line, "$1")
	line = bullet.ReplaceAllString(subtext.ReplaceAllString(line, ""), "${1}• ")
	var b strings.Builder
	parts := strings.Split(line, "`")
	for i, part := range parts {
		switch isCode := i%2 == 1; {
		case isCode && i < len(parts)-1:
			b.WriteString(m.marks.code + part + m.marks.code)
		case isCode: // not closed
			b.WriteString("`" + m.inline(part))
		default:
			b.WriteString(m.inline(part))
		}
	}
	if isHeading && m.marks.bold != "" && b.Len() > 0 {
		return m.marks.bold + strings.ReplaceAll(b.String(), m.marks.bold, "") + m.marks.bold
	}
	return b.String()
}

// Characters that stand for others until the stars of italic text are converted: the mark of bold text, and a star that is text.
const (
	boldMark = "\x02"
	aStar    = "\x03"
)

// inline converts a part of a line without code.
func (m markup) inline(text string) string {
	if !strings.ContainsAny(text, `[<*~\`) {
		return text
	}
	text = m.namedLinks(inlineLinks, text, 2, 1)
	text = m.namedLinks(autoLinks, text, 1, 1)
	text = strings.ReplaceAll(text, `\*`, aStar)
	text = boldText.ReplaceAllString(text, boldMark+"${1}"+boldMark)
	text = italicText.ReplaceAllString(text, m.marks.italic+"${1}"+m.marks.italic)
	text = strikeText.ReplaceAllString(text, m.marks.strike+"${1}"+m.marks.strike)
	text = backslashes.ReplaceAllString(text, "$1")
	return strings.NewReplacer(boldMark, m.marks.bold, aStar, "*").Replace(text)
}

// slackLinks reads links and mentions as Slack, Google Chat and Mattermost write them: <https://example.com|the page>.
func (m markup) slackLinks(text string) string {
	return unmentioned(m.namedLinks(angled, cut(text, maxMarkup), 1, 2))
}

// namedLinks replaces links by their names, and keeps their addresses. The numbers are those of groups of the pattern.
func (m markup) namedLinks(pattern *regexp.Regexp, text string, address, name int) string {
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		groups := pattern.FindStringSubmatch(found)
		shown := strings.TrimSpace(groups[name])
		m.keep(shown, groups[address])
		if shown == "" && !strings.HasPrefix(found, "!") { // a picture without a name
			return groups[address]
		}
		return shown
	})
}

// keep adds a link, unless there is one with that address.
func (m markup) keep(name, address string) {
	if m.links != nil {
		*m.links = withLink(*m.links, len(*m.links), name, address)
	}
}

// withLink inserts a link with a name in Markdown at a place, unless there is one with that address.
func withLink(links []Link, at int, name, address string) []Link {
	if !isLink(address) || slices.ContainsFunc(links, func(l Link) bool { return l.URL == address }) {
		return links
	}
	name = markup{marks: plainOnly}.markdown(name)
	if name == "" || name == address {
		name = hostOf(address)
	}
	links = slices.Insert(links, at, Link{Title: name, URL: address})
	return links[:min(len(links), maxLinks)]
}

// hostOf returns the host of an address.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return "Link"
}

var (
	anchors   = regexp.MustCompile(`(?i)<a\s[^<>]*?href\s*=\s*["']?([^"'\s<>]+)[^<>]*>([^<]*)</a>`)
	tags      = regexp.MustCompile(`</?([a-zA-Z]+)(?:\s[^<>]*|/)?>`)
	angled    = regexp.MustCompile(`<([a-z]+:[^\s<>|]+)\|([^<>|]*)>`) // <https://example.com|the page>
	anyone    = regexp.MustCompile(`<(?:users/|[@#!]&?!?)([^\s<>|]+)(?:\|[^<>|]*)?>`)
	emojis    = regexp.MustCompile(`<a?(:[A-Za-z0-9_]+:)\d+>`)
	unixTimes = regexp.MustCompile(`<t:(\d{1,12})(?::[a-zA-Z])?>`)
)

// tagMarks are the tags of HTML that chat tools allow, as Markdown. Any other tag stays as it is.
var tagMarks = map[string]string{
	"b": "**", "strong": "**", "i": "_", "em": "_", "s": "~~", "strike": "~~", "del": "~~", "code": "`", "pre": fence,
	"br": "\n", "p": "\n", "div": "\n", "ul": "\n", "ol": "\n", "tr": "\n", "li": "\n- ", "at": "@",
	"u": "", "font": "", "span": "", "time": "", "td": " ", "table": "", "tbody": "", "h1": "\n", "h2": "\n", "h3": "\n", "a": "",
}

// markdownOfHTML turns the HTML that Microsoft Teams and Google Chat allow in texts into Markdown.
func markdownOfHTML(text string) string {
	text = cut(text, maxMarkup)
	if strings.Contains(text, "<") {
		text = anchors.ReplaceAllString(text, "[$2]($1)")
		text = tags.ReplaceAllStringFunc(text, func(tag string) string {
			mark, known := tagMarks[strings.ToLower(tags.FindStringSubmatch(tag)[1])]
			switch {
			case !known:
				return tag
			case strings.HasPrefix(tag, "</") && (mark == "@" || mark == "\n- "):
				return ""
			default:
				return mark
			}
		})
	}
	if strings.Contains(text, "&") {
		text = strings.ReplaceAll(html.UnescapeString(text), "\u00a0", " ")
	}
	return text
}

// unmentioned writes the mentions, emoji and times of chat tools as plain words.
func unmentioned(text string) string {
	if text = cut(text, maxMarkup); !strings.Contains(text, "<") {
		return text
	}
	text = emojis.ReplaceAllString(text, "$1")
	text = unixTimes.ReplaceAllStringFunc(text, func(found string) string {
		return timeOf(unixTimes.FindStringSubmatch(found)[1]).Format(time.DateTime + " UTC")
	})
	return anyone.ReplaceAllString(text, "@$1")
}
