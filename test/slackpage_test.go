//go:build page

package test

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
)

// slackPage is a page that shows messages as Slack does, made from their blocks: enough to judge what a reader sees first.
func slackPage(t *testing.T, messages []notifier.Message) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(slackPageHead)
	for _, m := range messages {
		b.WriteString(`<article><i class="avatar">r</i><div><p class="who"><b>relay</b> <small>APP</small> <time>14:12</time></p>`)
		b.WriteString("<p>" + slackHTML(m.Text) + "</p>")
		fmt.Fprintf(&b, `<div class="attachment" style="border-color:%s">`, m.Color)
		for _, block := range m.Blocks {
			switch block := block.(type) {
			case *slack.SectionBlock:
				b.WriteString("<p>" + slackHTML(block.Text.Text) + "</p>")
			case *slack.ContextBlock:
				b.WriteString(`<p class="context">`)
				for _, element := range block.ContextElements.Elements {
					b.WriteString(slackHTML(element.(*slack.TextBlockObject).Text))
				}
				b.WriteString("</p>")
			case *slack.ImageBlock:
				b.WriteString(`<img src="` + picturedGraph + `" alt="` + html.EscapeString(block.AltText) + `">`)
			default:
				require.Fail(t, "a block that this page does not know", "%T", block)
			}
		}
		b.WriteString("</div></div></article>\n")
	}
	return b.String()
}

var (
	slackFences = regexp.MustCompile("(?s)```\n?(.*?)\n?```")
	slackTimes  = regexp.MustCompile(`<!date\^(\d+)\^([^|^]*)\|[^>]*>`)
	slackLinks  = regexp.MustCompile(`<(https?://[^|>]*)\|([^>]*)>`)
	slackCode   = regexp.MustCompile("`([^`\n]+)`")
	slackBold   = regexp.MustCompile(`(^|[^\w*])\*([^*\n]+)\*`)
	slackItalic = regexp.MustCompile(`(^|[^\w_])_([^_\n]+)_`)
	slackCalled = regexp.MustCompile(`<!(here|channel)>`)
)

// slackHTML shows mrkdwn.
func slackHTML(mrkdwn string) string {
	text := slackTimes.ReplaceAllStringFunc(mrkdwn, func(found string) string {
		parts := slackTimes.FindStringSubmatch(found)
		seconds, _ := strconv.ParseInt(parts[1], 10, 64)
		at := time.Unix(seconds, 0).UTC()
		return strings.NewReplacer("{time}", at.Format("15:04"), "{date_short_pretty}", "today").Replace(parts[2])
	})
	text = slackCalled.ReplaceAllString(text, `<mark>@$1</mark>`)
	text = slackLinks.ReplaceAllString(text, `<a href="$1">$2</a>`)
	text = slackFences.ReplaceAllString(text, "<pre>$1</pre>")
	text = slackCode.ReplaceAllString(text, "<code>$1</code>")
	text = slackBold.ReplaceAllString(text, "$1<b>$2</b>")
	text = slackItalic.ReplaceAllString(text, "$1<em>$2</em>")
	return slackEmoji.Replace(strings.ReplaceAll(text, "\n", "<br>"))
}

// slackEmoji draws the emoji that messages have: a machine without a font for them shows boxes.
var slackEmoji = strings.NewReplacer(
	"🔴", slackCircle+`#dd2e44"></i>`, "🟠", slackCircle+`#f4900c"></i>`, "🟡", slackCircle+`#fdcb58"></i>`, "🔵", slackCircle+`#55acee"></i>`,
	"✅", `<i class="emoji" style="border-radius:3px;background:#77b255">✓</i>`,
)

const slackCircle = `<i class="emoji" style="background:`

// picturedGraph stands for the picture that Slack would load.
const picturedGraph = "data:image/svg+xml," +
	"%3Csvg xmlns='http://www.w3.org/2000/svg' width='360' height='110'%3E%3Crect width='360' height='110' fill='%23f6f6fa'/%3E" +
	"%3Cpath d='M0 38H360' stroke='%23d3302f' stroke-dasharray='5 4'/%3E" +
	"%3Cpath d='M0 90L40 86L80 92L120 84L160 70L200 44L240 28L280 22L320 26L360 18' fill='none'" +
	" stroke='%23632ca6' stroke-width='3'/%3E%3C/svg%3E"

const slackPageHead = `<!doctype html><meta charset="utf-8"><title>Messages</title><style>
:root { color-scheme: light dark; --ink: #1d1c1d; --soft: #616061; --page: #fff; --line: #ddd; --link: #1264a3; --code: #e01e5a;
  --fill: #f8f8f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #d1d2d3; --soft: #ababad; --page: #1a1d21; --line: #424448; --link: #1d9bd1; --code: #e8912d; --fill: #222529; } }
body { font: 15px/1.47 Lato, "Helvetica Neue", "Liberation Sans", Arial, "Noto Color Emoji", sans-serif; color: var(--ink);
  background: var(--page); margin: 0; padding: 14px 18px; width: 664px; }
article { display: grid; grid-template-columns: 36px 1fr; gap: 10px; margin-bottom: 18px; }
.avatar { width: 36px; height: 36px; border-radius: 6px; background: #2f6fed; color: #fff; font: bold 20px/36px sans-serif;
  text-align: center; }
p { margin: 0; overflow-wrap: anywhere; } .who small { background: var(--line); border-radius: 2px; padding: 0 3px; font-size: 10px; }
time { color: var(--soft); font-size: 12px; } a { color: var(--link); text-decoration: none; }
mark { background: #f2c74466; color: var(--link); }
.attachment { border-left: 4px solid; border-radius: 4px; padding: 2px 0 2px 12px; margin-top: 4px;
  display: grid; gap: 5px; justify-items: start; }
.context { color: var(--soft); font-size: 13px; } .context b { color: var(--ink); }
.emoji { display: inline-block; width: 15px; height: 15px; border-radius: 50%; vertical-align: -2px; margin-right: 2px;
  font: bold 12px/15px sans-serif; color: #fff; text-align: center; }
code, pre { font: 12px/1.5 monospace; background: var(--fill); border: 1px solid var(--line); border-radius: 3px; }
code { color: var(--code); padding: 1px 3px; } pre { margin: 4px 0; padding: 6px; } img { border-radius: 6px; max-width: 360px; }
</style>
`
