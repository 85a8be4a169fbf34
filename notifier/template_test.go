package notifier_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

func TestTemplatesThatAreRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"{{.Title":                               "unclosed action",
		"{{.Titel}}":                             "can't evaluate field Titel",
		`{{define "x"}}x{{end}}`:                 "define and block are not taken",
		`{{template "text" .}}`:                  "calling a template is not taken",
		"{{range 100000000}}x{{end}}":            "the number 100000000 is above 10000",
		"{{$n := 100000000}}{{range $n}}{{end}}": "the number 100000000 is above 10000",
		"{{range .Labels}}{{range $.Labels}}{{range $.Labels}}{{end}}{{end}}{{end}}": "more than 2 loops inside each other",
		"{{range 10000}}{{$.Text}}{{end}}":                                           "it writes more than 12000 bytes",
		"{{if true}}{{with .Labels}}{{range 99999}}{{end}}{{end}}{{end}}":            "the number 99999 is above 10000",
	} {
		_, err := notifier.ParseTemplate("", text)
		require.ErrorContains(t, err, says, text)
	}
	none, err := notifier.ParseTemplate("", "")
	require.NoError(t, err)
	require.Nil(t, none)
}

// A template that fails on an event leaves the relay's own words.
func TestATemplateThatFails(t *testing.T) {
	t.Parallel()
	template, err := notifier.ParseTemplate(`{{cut 10 .Title}}`, `{{range 100}}{{$.Text}}{{end}}`)
	require.NoError(t, err)
	long := events.Event{Title: "a long & telling title", Text: strings.Repeat("x", 200), Category: "c", Severity: events.Error, Source: "generic"}
	m := notifier.Renderer{Template: template}.Render(long)
	require.Equal(t, "🟠 a long …", m.Text)
	require.Contains(t, notifier.Plain(m), strings.Repeat("x", 200), "it would have written too much")
	short := long
	short.Text = "brief"
	require.Contains(t, notifier.Plain(notifier.Renderer{Template: template}.Render(short)), strings.Repeat("brief", 100))
}

func TestMention(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]string{
		"here": "<!here>", "channel": "<!channel>", "everyone": "<!everyone>", "U0123": "<@U0123>", "W0123": "<@W0123>", "S0123": "<!subteam^S0123>",
		"": "", "me": "", "u0123": "", "U01>": "", "C0123": "",
	} {
		require.Equal(t, want, notifier.Mention(who), who)
	}
}
