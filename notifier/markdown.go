package notifier

import (
	"cmp"
	"regexp"
	"strings"
)

// Markdown returns mrkdwn as the Markdown of Mattermost and Rocket.Chat. Mentions and links stay what they are. What a sender wrote in
// the Markdown of these servers stays text: it mentions nobody, links to nothing and loads no image.
func Markdown(mrkdwn string) string {
	mrkdwn = strings.ReplaceAll(mrkdwn, held, "")
	var b strings.Builder
	last := 0
	for _, found := range code.FindAllStringIndex(mrkdwn, -1) {
		b.WriteString(markdownOf(mrkdwn[last:found[0]], true))
		b.WriteString(markdownOf(mrkdwn[found[0]:found[1]], false))
		last = found[1]
	}
	b.WriteString(markdownOf(mrkdwn[last:], true))
	return b.String()
}

// code is a code block or a code span of mrkdwn.
var code = regexp.MustCompile("(?s)```.+?```|`[^`\n]+`")

// held stands for markup while the text around it is converted.
const held = "\ue000"

// markdownOf converts mrkdwn with code in it, or without. Only the latter has bold and struck text, and links.
func markdownOf(mrkdwn string, formatted bool) string {
	var markups []string
	text := angled.ReplaceAllStringFunc(mrkdwn, func(markup string) string {
		markups = append(markups, markdownMarkup(markup[1:len(markup)-1], formatted))
		return held
	})
	text = inertMarkdown(text)
	if formatted {
		text = boldMarkup.ReplaceAllString(text, "$1**$2**")
		text = struckMarkup.ReplaceAllString(text, "$1~~$2~~")
	}
	parts := strings.Split(text, held)
	for i, markup := range markups {
		parts[i] += markup
	}
	return strings.Join(parts, "")
}

var (
	angled       = regexp.MustCompile(`<[^<>\n]+>`)
	boldMarkup   = regexp.MustCompile(`(^|[^\p{L}\p{N}*_~])\*([^\s*](?:[^*\n]*[^\s*])?)\*`)
	struckMarkup = regexp.MustCompile(`(^|[^\p{L}\p{N}*_~])~([^\s~](?:[^~\n]*[^\s~])?)~`)
)

// broadcasts are the mentions of everyone, as both servers have them.
var broadcasts = map[string]string{"!here": "@here", "!channel": "@channel", "!everyone": "@all"}

// markdownMarkup returns what is between < and > in mrkdwn: a mention, a date, a channel or a link. Slack's ids of people say nothing
// elsewhere, so they mention nobody.
func markdownMarkup(inside string, links bool) string {
	target, label, _ := strings.Cut(inside, "|")
	switch broadcast, isBroadcast := broadcasts[target]; {
	case isBroadcast:
		return broadcast
	case strings.HasPrefix(target, "!date^"):
		return inertMarkdown(label)
	case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "!"):
		name := cmp.Or(strings.TrimPrefix(label, "@"), strings.TrimPrefix(strings.TrimLeft(target, "@!"), "subteam^"))
		return inertName(inertMarkdown(name))
	case strings.HasPrefix(target, "#"):
		return "#" + inertMarkdown(cmp.Or(strings.TrimPrefix(label, "#"), target[1:]))
	case !links || !linkTarget.MatchString(target):
		return inertMarkdown(cmp.Or(label, target))
	}
	address := strings.NewReplacer("&amp;", "&", "(", "%28", ")", "%29", " ", "%20").Replace(target)
	if label == "" {
		return address
	}
	return "[" + strings.NewReplacer("[", "(", "]", ")").Replace(inertMarkdown(label)) + "](" + address + ")"
}

var (
	linkTarget = regexp.MustCompile(`^(?:https?://|mailto:)`)
	// Mattermost reads these even in code: <!here>, <@id> and <address|text>.
	slackMarkup = regexp.MustCompile(`<([!@])`)
	slackLink   = regexp.MustCompile(`<([^\n<|>]+)\|([^\n>]+>)`)
	// A name may begin with _, which Mattermost skips, or with a date, which becomes text.
	nameMention = regexp.MustCompile(`((?:^|[^\p{L}\p{N}])@+)\x{200b}?`)
)

// inertMarkdown returns escaped text as it was before, and keeps both servers from finding mentions, links and images in it.
func inertMarkdown(escaped string) string {
	text := inert.Replace(escaped)
	text = slackMarkup.ReplaceAllString(text, "<\u200b$1")
	text = slackLink.ReplaceAllString(text, "<$1¦$2")
	return nameMention.ReplaceAllString(text, "$1\u200b")
}

// inert replaces Slack's escapes, and keeps brackets from being links, images, and definitions of either.
var inert = strings.NewReplacer(
	"&lt;", "<", "&gt;", ">", "&amp;", "&", "](", "]\u200b(", "][", "]\u200b[", "![", "!\u200b[", "]:", "]\u200b:",
)
