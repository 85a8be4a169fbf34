package notifier_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

// Everything that begins like a mention is disabled, in texts and in blocks; dates and links stay.
func TestMentionsInSlackMessagesAreDisabled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<!channel>":                      "@\u200bchannel",
		"<!group>":                        "@\u200bgroup",
		"<!here^x>":                       "@\u200bhere^x",
		"<!CHANNEL>":                      "@\u200bCHANNEL",
		"<!channel >":                     "@\u200bchannel ",
		"< !channel>":                     "@\u200bchannel",
		"<!channel|a label>":              "@\u200ba label",
		"<@U123^x>":                       "@\u200bU123^x",
		"<@U123|@eve>":                    "@\u200beve",
		"<@>":                             "@\u200b",
		"<!>":                             "@\u200b",
		"<!subteam^S12|@ops>":             "@\u200bops",
		"<!\u200bhere>":                   "@\u200bhere",
		"<!he\u202ere>":                   "@\u200bhere",
		"<!date^x^{date}|y>":              "@\u200by",
		"<!date^1^{date}>":                "@\u200bdate^1^{date}",
		"<!date^1^<!here>^x|y>":           "&lt;!date^1^@\u200bhere^x|y>",
		"<!date^1^{date}^javascript:|":    "&lt;!date^1^{date}^javascript:|",
		"<!channel|<!here>>":              "&lt;!channel|@\u200bhere>",
		"<!ch<!here>annel>":               "&lt;!ch@\u200bhereannel>",
		"<!date^1^{date}|<!here>>":        "<!date^1^{date}|@\u200bhere>",
		"<!<!<!here>>>":                   "&lt;!&lt;!@\u200bhere>>",
		"a\x1b[2J\u061c\ufeff\U000e0041b": "a[2Jb",
		"line\none\ttab":                  "line\none\ttab",
	} {
		rendered := notifier.Renderer{}.Render(events.Event{Title: "t", Slack: &events.SlackMessage{Text: text}}).Text
		require.Equal(t, strings.TrimSpace(want), rendered, text)
		encoded, err := json.Marshal([]map[string]any{{"type": "section", "text": map[string]string{"type": "mrkdwn", "text": text}}})
		require.NoError(t, err)
		m := notifier.Renderer{}.Render(events.Event{Title: "t", Slack: &events.SlackMessage{Blocks: encoded}})
		var blocks []struct{ Text struct{ Text string } }
		require.NoError(t, json.Unmarshal(m.Native.Blocks, &blocks))
		require.Equal(t, want, blocks[0].Text.Text, text)
	}
	for _, date := range []string{
		"<!date^1392734382^{date} at {time}|February 18th, 2014>", "<!date^1392734382^{date_short}^https://example.com/x|Feb 18>",
		"<https://example.com|x>", "<#C123|general>", "a < b ! c >",
	} {
		require.Equal(t, date, notifier.Renderer{}.Render(events.Event{Title: "t", Slack: &events.SlackMessage{Text: date}}).Text)
	}
}

// The joiners that scripts and emoji need stay.
func TestHiddenCharactersAreRemoved(t *testing.T) {
	t.Parallel()
	hidden := "\u061c\u200b\u200e\u202e\u2060\u2066\ufeff\U000e0041\U000e007f\x7f\x1b"
	m := notifier.Renderer{}.Render(events.Event{Title: "pay" + hidden + "pal 👩\u200d💻", Category: "c", Severity: events.Error})
	require.Contains(t, m.Text, "paypal 👩\u200d💻")
}
