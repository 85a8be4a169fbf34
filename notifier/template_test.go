package notifier_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

// The page about messages lists every field and function of a template.
func TestFieldsOfTemplatesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/messages.md")
	require.NoError(t, err)
	for field := range reflect.TypeFor[notifier.TemplateData]().Fields() {
		require.Contains(t, string(page), "`."+field.Name+"`")
	}
	_, text, ok := strings.Cut(string(page), "template_title: '")
	title, text, ok2 := strings.Cut(text, "'\n    template_text: '")
	text, _, ok3 := strings.Cut(text, "'")
	require.True(t, ok && ok2 && ok3)
	_, err = notifier.ParseTemplate(title, text)
	require.NoError(t, err, "of the example")
}

func TestInvalidTemplatesAreRefused(t *testing.T) {
	t.Parallel()
	for text, fault := range map[string]string{
		"{{.Title":                               "unclosed action",
		"{{.Titel}}":                             "can't evaluate field Titel",
		`{{define "x"}}x{{end}}`:                 "define and block are not allowed",
		`{{template "text" .}}`:                  "calling a template is not allowed",
		"{{range 100000000}}x{{end}}":            "the number 100000000 is above 10000",
		"{{$n := 100000000}}{{range $n}}{{end}}": "the number 100000000 is above 10000",
		"{{range .Labels}}{{range $.Labels}}{{range $.Labels}}{{end}}{{end}}{{end}}": "more than 2 nested loops",
		"{{range 10000}}{{$.Text}}{{end}}":                                           "it writes more than 12000 bytes",
		`{{range 10000}}{{range 10000}}{{$x := printf "%010000d" 1}}{{end}}{{end}}`:  "it takes ",
		// too many steps or, on a slow machine, too long
		`{{range 10000}}{{range 10000}}{{else}}{{end}}{{end}}`:            "it takes more than 50000 steps",
		`{{range len (printf "%1000000d" 1)}}{{continue}}{{end}}`:         "it takes more than 50000 steps",
		"{{if true}}{{with .Labels}}{{range 99999}}{{end}}{{end}}{{end}}": "the number 99999 is above 10000",
	} {
		_, err := notifier.ParseTemplate("", text)
		require.ErrorContains(t, err, fault, text)
	}
	none, err := notifier.ParseTemplate("", "")
	require.NoError(t, err)
	require.Nil(t, none)
}

func TestATemplateThatFailsLeavesTheDefaultLayout(t *testing.T) {
	t.Parallel()
	template, err := notifier.ParseTemplate(`{{cut 10 .Title}}`, `{{range 100}}{{$.Text}}{{end}}`)
	require.NoError(t, err)
	long := events.Event{
		Title: "a long & telling title", Text: strings.Repeat("x", 200), Category: "c", Severity: events.Error,
		Source: "generic",
	}
	m := notifier.Renderer{Template: template}.Render(long)
	require.Equal(t, "🟠 a long …", m.Text)
	require.Contains(t, notifier.Plain(m), strings.Repeat("x", 200), "it would have written too much")
	short := long
	short.Text = "brief"
	require.Contains(t, notifier.Plain(notifier.Renderer{Template: template}.Render(short)), strings.Repeat("brief", 100))
}

func TestTemplatesSeeEscapedNamesAndValuesOfLabels(t *testing.T) {
	t.Parallel()
	template, err := notifier.ParseTemplate("", `{{range $name, $value := .Labels}}{{$name}}={{$value}} {{end}}`)
	require.NoError(t, err)
	m := notifier.Renderer{Template: template}.Render(events.Event{
		Title: "x", Category: "c", Severity: events.Error,
		Labels: map[string]string{
			"<!channel>": "1", "<@U12345>": "2", "<!subteam^S123>": "3", "<https://evil.example|https://bank.example>": "4",
			"a\x1b[2J\u202e\u200b\U000e0041b": "5", "host": "db-1",
		},
	})
	encoded, err := json.Marshal(m)
	require.NoError(t, err)
	var text strings.Builder
	for _, block := range m.Blocks {
		if section, ok := block.(*slack.SectionBlock); ok {
			text.WriteString(section.Text.Text)
		}
	}
	require.Contains(t, text.String(), "&lt;!channel&gt;=1")
	require.Contains(t, text.String(), "a[2Jb=5")
	require.Contains(t, text.String(), "host=db-1")
	for _, live := range []string{"<!", "<@", "<http"} {
		require.NotContains(t, text.String(), live, "%s", encoded)
	}
}

func TestMentionAcceptsKeywordsAndIDs(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]string{
		"here": "<!here>", "channel": "<!channel>", "everyone": "<!everyone>", "U0123": "<@U0123>", "W0123": "<@W0123>",
		"S0123": "<!subteam^S0123>",
		"":      "", "me": "", "u0123": "", "U01>": "", "C0123": "",
	} {
		require.Equal(t, want, notifier.Mention(who), who)
	}
}
