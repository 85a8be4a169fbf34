package notifier_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
)

func TestMrkdwnBecomesMarkdown(t *testing.T) {
	t.Parallel()
	for mrkdwn, markdown := range map[string]string{
		"":                                 "",
		"🔴 *Disk full* &amp; _slow_ ~old~": "🔴 **Disk full** & _slow_ ~~old~~",
		"*<https://x.example/a(b)?c=d&amp;e=f|Disk [db-1] full>*": "**[Disk (db-1) full](https://x.example/a%28b%29?c=d&e=f)**",
		"<https://x.example>, <mailto:a@x.example|a@x.example>":   "https://x.example, [a@x.example](mailto:a@x.example)",
		"<javascript:alert(1)|click>":                             "click",
		"5 * 3 * 2, a*b*c, **x**":                                 "5 * 3 * 2, a*b*c, **x**",
		"since <!date^1^{time}|12:00 UTC>":                        "since 12:00 UTC",
		"`*x* <https://x.example|here>` *y*":                      "`*x* here` **y**",
		"```\na *b*\n``` *c*":                                     "```\na *b*\n``` **c**",
		"<!here> <!channel> <!everyone>":                          "@here @channel @all",
		"<!subteam^S012|@oncall> <@U012> <@U012|ann> <#C1|ops>":   "@\u200boncall @\u200bU012 @\u200bann #ops",
		"\ue000<https://x.example|y>":                             "[y](https://x.example)",
	} {
		t.Run(mrkdwn, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, markdown, notifier.Markdown(mrkdwn))
		})
	}
}

// What a sender wrote arrives escaped, and stays text.
func TestTextOfASenderIsNoMarkup(t *testing.T) {
	t.Parallel()
	for text, markdown := range map[string]string{
		"&lt;!here&gt; `&lt;!here&gt;` &lt;@abc&gt;":              "<\u200b!here> `<\u200b!here>` <\u200b@\u200babc>",
		"&lt;https://x.example|click&gt; a &lt; b | c":            "<https://x.example¦click> a < b | c",
		"[click](https://x.example) ![](https://x.example/a.png)": "[click]\u200b(https://x.example) !\u200b[]\u200b(https://x.example/a.png)",
		"@here @all, (@ann) ``@channel` bob@x.example":            "@\u200bhere @\u200ball, (@\u200bann) ``@\u200bchannel` bob@x.example",
		"&amp;lt;!here&amp;gt;":                                   "&lt;!here&gt;",
		"@_@here @@all @<!date^1^x|here>":                         "@\u200b_@\u200bhere @@\u200ball @\u200bhere",
		"[click] [click]: https://x.example":                      "[click] [click]\u200b: https://x.example",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, markdown, notifier.Markdown(text))
		})
	}
}

func FuzzMarkdownMentionsNobody(f *testing.F) {
	f.Add("@here <!here> `@all` [x](y)")
	f.Add("@_@here [x]: y")
	f.Fuzz(func(t *testing.T, text string) {
		rendered := notifier.Markdown(notifier.Escaped(text, 10_000))
		require.NotContains(t, rendered, "]:")
		require.NotRegexp(t, `(?:^|[^\p{L}\p{N}])@(?:here|all|channel|everyone)\b`, rendered)
		require.NotContains(t, rendered, "](")
		require.NotRegexp(t, `<!(?:here|channel|all)>`, rendered)
	})
}
