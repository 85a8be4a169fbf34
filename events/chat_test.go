package events_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

// chat decodes a body of a chat tool.
func chat(t *testing.T, source string, body any) events.Event {
	t.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(t, err)
	all, err := events.Decode(events.Webhook{Source: source, Body: encoded})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

func TestMarkdownBecomesMrkdwn(t *testing.T) {
	t.Parallel()
	for markdown, want := range map[string]string{
		"plain <text> & more":             "plain <text> & more",
		"**bold** and *italic*":           "*bold* and _italic_",
		"***both***":                      "_*both*_",
		"*.log and *.txt, 2 * 3 * 4":      "*.log and *.txt, 2 * 3 * 4",
		"~~gone~~ ~here~":                 "~gone~ ~here~",
		"# Heading **one** #":             "*Heading one*",
		"a #tag":                          "a #tag",
		"- one\n  * two\n+ three":         "• one\n  • two\n• three",
		"[page](https://x.example/a_(b))": "page",
		"![chart](https://x.example/c)":   "chart",
		"[broken](not a link)":            "[broken](not a link)",
		"see <https://x.example>":         "see https://x.example",
		"`**code** [a](b)`, **not**":      "`**code** [a](b)`, *not*",
		"an open ` tick **bold**":         "an open ` tick *bold*",
		"```go\nx := **y\n```\n**end**":   "```\nx := **y\n```\n*end*",
		"```\nnever closed **":            "```\nnever closed **\n```",
		`\*not italic\* and C:\Users\me`:  `*not italic* and C:\Users\me`,
		"<@1> <@!2> <@&3> <#4>":           "@1 @2 @3 @4",
		"<:sad:12> <a:run:34>":            ":sad: :run:",
		"<t:1763620000>":                  "2025-11-20 06:26:40 UTC",
		"<!here> @everyone <!channel|c>":  "@here @everyone @channel",
		"a\n\n\n\nb  \r\nc":               "a\n\nb\nc",
		"disk_full __init__ snake_case":   "disk_full __init__ snake_case",
		"> quoted\n-# small":              "> quoted\nsmall",
	} {
		t.Run(markdown, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, chat(t, "", map[string]string{"content": "title\n" + markdown}).Text)
		})
	}
}

func TestHTMLOfTeamsBecomesMrkdwn(t *testing.T) {
	t.Parallel()
	for html, want := range map[string]string{
		"<b>a</b><br/>b<BR>c":                            "*a*\nb\nc",
		`<a class="x" href="https://x.example">page</a>`: "page",
		"<at>Ada</at> &lt;!here&gt; &amp;&nbsp;x":        "@Ada <!here> & x",
		"<ul><li>one</li><li>two</li></ul>":              "• one\n• two",
		"a <script>b</script> <nil> 1 < 2":               "a <script>b</script> <nil> 1 < 2",
		"<pre>x **y**</pre>":                             "```\nx **y**\n```",
	} {
		t.Run(html, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, chat(t, "", map[string]string{"@type": "MessageCard", "title": "title", "text": html}).Text)
		})
	}
}

// A tag at the beginning of the title says what happened; a word that only begins a sentence does not.
func TestTagOfTitleIsStatusAndSeverity(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]events.Event{
		"[FIRING:2] x":        {Status: events.Firing, Severity: events.Warning},
		"[RESOLVED] x":        {Status: events.Resolved, Severity: events.Info},
		"🔴 [Alerting] x":      {Status: events.Firing, Severity: events.Error},
		"✅ Recovered: x":      {Status: events.Resolved, Severity: events.Info},
		"DOWN x":              {Status: events.Firing, Severity: events.Warning},
		"[CRITICAL] x":        {Severity: events.Critical},
		"Warning: x":          {Severity: events.Warning},
		"🚨 x":                 {Severity: events.Error},
		"Open the door":       {Severity: events.Info},
		"Error budget: x":     {Severity: events.Info},
		"ALERT: x":            {Severity: events.Info},
		"Up and running":      {Severity: events.Info},
		"deploy of shop":      {Severity: events.Info},
		":warning: be warned": {Severity: events.Warning},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := chat(t, "", map[string]string{"content": title})
			require.Equal(t, want.Status, got.Status)
			require.Equal(t, want.Severity, got.Severity)
			require.Empty(t, got.Fingerprint)
		})
	}
}

func TestColorIsSeverity(t *testing.T) {
	t.Parallel()
	for color, want := range map[int]events.Severity{
		0x992D22: events.Error, 0xD63232: events.Error, 0xE01E5A: events.Error, 0xFF0000: events.Error,
		0xFFA500: events.Warning, 0xECB22E: events.Warning, 0xFFFF00: events.Warning,
		0x2ECC71: events.Info, 0x36A64F: events.Info, 0x0000FF: events.Info, 0x808080: events.Info, 0: events.Info, -1: events.Info,
	} {
		t.Run(fmt.Sprintf("%06x", color), func(t *testing.T) {
			t.Parallel()
			got := chat(t, "", map[string]any{"embeds": []any{map[string]any{"title": "x", "color": color}}})
			require.Equal(t, want, got.Severity)
			got = chat(t, "", map[string]any{"@type": "MessageCard", "title": "x", "themeColor": fmt.Sprintf("#%06X", max(color, 0))})
			require.Equal(t, want, got.Severity)
		})
	}
}

// Other tools have attachments and blocks too: files, cards, stages of a pipeline.
func TestSlackClaimsOnlyAttachmentsAndBlocksOfSlack(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"version":"1.0","title":"Disk full","message":"on db-1","attachments":[],"type":"warning"}`:     "generic",
		`{"subject":"Help","attachments":[{"url":"https://x.example/a.png","size":12}]}`:                  "generic",
		`{"name":"shop","blocks":[{"name":"tests","state":"done","result":"failed"}],"message":"failed"}`: "generic",
		`{"title":"x","blocks":[],"attachments":[]}`:                                                      "generic",
		`{"type":"message","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive","content":{"body":[
			{"type":"TextBlock","text":"x"}]}}]}`: "teams",
		`{"attachments":[{"color":"danger","text":"x"}]}`:                                        "slack",
		`{"attachments":[{"mrkdwn_in":["text"]},{"fallback":"x"}]}`:                              "slack",
		`{"blocks":[{"type":"divider"},{"type":"section","text":{"type":"mrkdwn","text":"x"}}]}`: "slack",
		`{"text":"x","channel":"#a","attachments":[]}`:                                           "slack",
		`{"content":"x"}`:                                             "discord",
		`{"content":"x","title":"y"}`:                                 "generic",
		`{"text":"x","thread":{"threadKey":"k"}}`:                     "google_chat",
		`{"text":"x","channel":"a","priority":{"priority":"urgent"}}`: "mattermost",
		`{"message":"x","alias":"a","responders":[{"name":"core"}]}`:  "opsgenie",
		`{"message":"x","priority":"P1"}`:                             "generic",
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			all, err := decode(body)
			require.NoError(t, err)
			require.Equal(t, want, all[0].Source)
		})
	}
}

func TestEmptyChatMessageIsRefused(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"discord", "teams", "google_chat", "mattermost"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			_, err := events.Decode(events.Webhook{Source: source, Body: []byte(`{"username":"x","embeds":[{}],"cards":[],"sections":[{}]}`)})
			var input *events.InputError
			require.ErrorAs(t, err, &input)
			require.Equal(t, events.BadField, input.Code)
		})
	}
}

// However a sender fills its body, decoding takes time in proportion to its size, and the event is bounded.
func TestChatMessageIsBounded(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, unit := range []string{
		"x", "[a](", "[x](y)", "**", "*a *", "`", "```", "<a ", "<t:1", "\\", "~~", "# \n", "- \n", "<b></b>", "https://x ", "<x:y|z>",
	} {
		text := strings.Repeat(unit, size/len(unit)/4)
		for name, body := range map[string]any{
			"discord": map[string]any{"content": text, "embeds": []any{map[string]any{
				"title": text, "description": text, "fields": []any{map[string]any{"name": text, "value": text}},
			}}},
			"teams": map[string]any{"@type": "MessageCard", "title": text, "text": text, "sections": []any{map[string]any{"text": text}}},
			"google_chat": map[string]any{"text": text, "cardsV2": []any{map[string]any{"card": map[string]any{
				"header": map[string]any{"title": text}, "sections": []any{map[string]any{"widgets": []any{
					map[string]any{"textParagraph": map[string]any{"text": text}},
				}}},
			}}}},
			"mattermost": map[string]any{"text": text, "attachments": []any{map[string]any{"title": text, "text": text}}},
		} {
			began := time.Now()
			encoded, err := json.Marshal(body)
			require.NoError(t, err)
			all, err := events.Decode(events.Webhook{Source: name, Body: encoded})
			require.Less(t, time.Since(began), 5*time.Second, "%s of %q", name, unit)
			if err != nil {
				continue
			}
			require.LessOrEqual(t, len([]rune(all[0].Title)), 1000)
			require.LessOrEqual(t, len([]rune(all[0].Text)), 12_000)
			require.LessOrEqual(t, len(all[0].Links), 10)
		}
	}
}
