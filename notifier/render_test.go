package notifier_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/test/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// example is what is rendered and, beside it, the message that it becomes.
type example struct {
	Webhook      json.RawMessage        `json:"webhook,omitempty"` // a body, whose events are one message
	Event        *events.Event          `json:"event,omitempty"`
	Notification *notifier.Notification `json:"notification,omitempty"`
	Digest       *notifier.Digest       `json:"digest,omitempty"`
	Notice       *notifier.Notice       `json:"notice,omitempty"`
	Reminder     *notifier.Reminder     `json:"reminder,omitempty"`
	Renderer     *struct {
		Mentions        map[events.Severity]string
		ReminderMention string `json:",omitempty"`
		AllowMentions   bool
		Title, Text     string         // templates
		Pages           notifier.Pages `json:",omitempty"`
		Buttons         bool           `json:",omitempty"`
		Mutes           bool           `json:",omitempty"`
	} `json:"renderer,omitempty"`
	Message json.RawMessage `json:"message"`
	Plain   []string        `json:"plain"` // the same, as a terminal has it
}

func (g example) render(t *testing.T) notifier.Message {
	t.Helper()
	var r notifier.Renderer
	if g.Renderer != nil {
		template, err := notifier.ParseTemplate(g.Renderer.Title, g.Renderer.Text)
		require.NoError(t, err)
		r = notifier.Renderer{
			Mentions: g.Renderer.Mentions, ReminderMention: g.Renderer.ReminderMention, AllowMentions: g.Renderer.AllowMentions,
			Template: template, Pages: g.Renderer.Pages,
			Buttons: g.Renderer.Buttons, Mutes: g.Renderer.Mutes,
		}
	}
	switch {
	case g.Webhook != nil:
		return r.Notification(notificationOf(t, g.Webhook))
	case g.Notification != nil:
		return r.Notification(*g.Notification)
	case g.Digest != nil:
		return r.Digest(*g.Digest)
	case g.Notice != nil:
		return r.Notice(*g.Notice)
	case g.Reminder != nil:
		return r.Reminder(*g.Reminder)
	default:
		return r.Render(*g.Event)
	}
}

// notificationOf returns the events of a webhook for the channel alerts, as one message.
func notificationOf(t *testing.T, body []byte) (n notifier.Notification) {
	t.Helper()
	decoder, err := events.NewDecoder(events.Options{})
	require.NoError(t, err)
	all, err := decoder.Decode(events.Webhook{Body: body})
	require.NoError(t, err)
	for i, e := range all {
		e.Channel, e.ID = "alerts", strconv.Itoa(i)
		n.Events = append(n.Events, notifier.NotificationEvent{Event: e})
	}
	return n
}

func TestGoldenMessages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			var e example
			require.NoError(t, json.Unmarshal(raw, &e))
			message := e.render(t)
			requireAccepted(t, message)
			e.Message = golden.Encode(t, message)
			e.Plain = strings.Split(notifier.Plain(message), "\n")
			golden.JSON(t, file, e)
		})
	}
}

// texts returns all texts that a message shows.
func texts(m notifier.Message) []string {
	all := []string{m.Text, m.Fallback}
	for _, b := range append(slices.Clone(m.Blocks), m.Instead...) {
		switch b := b.(type) {
		case *slack.SectionBlock:
			all = append(all, b.Text.Text)
		case *slack.ImageBlock:
			all = append(all, b.AltText)
		case *slack.ContextBlock:
			for _, e := range b.ContextElements.Elements {
				if text, ok := e.(*slack.TextBlockObject); ok {
					all = append(all, text.Text)
				}
			}
		}
	}
	return all
}

// requireAccepted requires that Slack accepts a message.
func requireAccepted(t *testing.T, m notifier.Message) {
	t.Helper()
	slack := fake(t)
	_, err := senders(t, slack)["bot"].Send(t.Context(), m)
	require.NoError(t, err)
	for _, simpler := range m.Simpler() {
		_, err = senders(t, slack)["bot"].Send(t.Context(), simpler)
		require.NoError(t, err)
	}
}

// ours matches the markup of this package: links, times and entities.
var ours = regexp.MustCompile(`<(https?://|!date\^)[^<>]*>|&(amp|lt|gt);`)

// requireSafe requires that a message is within Slack's limits and that no text of the event is active markup.
func requireSafe(t *testing.T, m notifier.Message) {
	t.Helper()
	total := 0
	for i, text := range texts(m) {
		require.NotEmpty(t, text, i)
		require.True(t, utf8.ValidString(text))
		if i > 1 {
			require.LessOrEqual(t, utf8.RuneCountInString(text), 3000)
			total += utf8.RuneCountInString(text)
		}
		rest := ours.ReplaceAllString(text, "")
		require.NotContains(t, rest, "<", "a text is active, or was cut inside <...>")
		require.NotContains(t, rest, "&", "cut inside an entity")
	}
	require.LessOrEqual(t, utf8.RuneCountInString(m.Text), 4000)
	require.LessOrEqual(t, total, 12_000)
	require.Regexp(t, "^#[0-9a-f]{6}$", m.Color)
}

func TestEveryFieldIsEscaped(t *testing.T) {
	t.Parallel()
	evil := "<!channel> & <@U123> <https://evil.example|click> \u202e\x00\x1b[31m"
	e := events.Event{
		Title: evil, Text: evil, Category: "c", Source: "generic", Severity: events.Critical, Note: evil,
		Labels: map[string]string{evil: evil}, Links: []events.Link{{Title: evil, URL: "https://x.example/a|b?c=<d>&e f"}},
	}
	m := notifier.Renderer{}.Render(e)
	requireSafe(t, m)
	for _, text := range texts(m) {
		require.NotContains(t, text, "<!channel")
		require.NotContains(t, text, "<@")
		require.NotContains(t, text, "<https://evil")
		require.NotContains(t, text, "\u202e")
		require.NotContains(t, text, "\x1b")
	}
	require.Contains(t, m.Text, "<https://x.example/a%7Cb?c=%3Cd%3E&amp;e%20f|&lt;!channel&gt;")
}

func TestLongEventsAreCut(t *testing.T) {
	t.Parallel()
	labels := map[string]string{}
	for _, c := range "abcdefghijklmnop" {
		labels[strings.Repeat(string(c), 200)] = strings.Repeat("&", 900)
	}
	for _, piece := range []string{"&", "<", "x", "é", "😀"} {
		long := strings.Repeat(piece, 20_000)
		m := notifier.Renderer{}.Render(events.Event{
			Title: long, Text: long, Note: long, Category: strings.Repeat("c", 100), Severity: events.Info, Labels: labels,
			Links: []events.Link{{Title: long, URL: "https://x.example/" + strings.Repeat("a", 3000)}, {Title: long, URL: "https://x.example/"}},
		})
		requireSafe(t, m)
		require.Contains(t, m.Text, "…")
	}
}

func TestSeverityAndStatusDecideIconAndColour(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		severity events.Severity
		status   events.Status
		starts   string
		color    string
	}{
		{events.Critical, events.Firing, "🔴 *x*", "#e01e5a"},
		{events.Error, events.NoStatus, "🟠 *x*", "#e8590c"},
		{events.Warning, events.NoStatus, "🟡 *x*", "#ecb22e"},
		{events.Info, events.NoStatus, "🔵 *x*", "#36c5f0"},
		{events.Critical, events.Resolved, "✅ *Resolved: x*", "#2eb67d"},
		{"unknown", events.NoStatus, "🟡 *x*", "#ecb22e"},
	} {
		m := notifier.Renderer{}.Render(events.Event{Title: "x", Severity: c.severity, Status: c.status, Category: "c"})
		require.Equal(t, c.starts, m.Text)
		require.Equal(t, c.color, m.Color)
	}
}

func TestTheFirstLineOfTheTextReplacesAMissingTitle(t *testing.T) {
	t.Parallel()
	m := notifier.Renderer{}.Render(events.Event{Text: "\n first *line* \nsecond", Severity: events.Warning, Category: "c"})
	require.Equal(t, "🟡 *first ∗line∗*", m.Text)
}

func TestLabelsThatAreNotShownAreCounted(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"alertname": "A", "severity": "info"} // shown elsewhere, so never counted
	for _, name := range "abcdefghijklm" {
		labels[string(name)] = "x"
	}
	m := notifier.Renderer{}.Render(events.Event{Title: "x", Severity: events.Info, Category: "c", Labels: labels})
	require.Contains(t, m.Fallback, "j=x · 3 more labels")
	delete(labels, "m")
	delete(labels, "l")
	delete(labels, "k")
	m = notifier.Renderer{}.Render(events.Event{Title: "x", Severity: events.Info, Category: "c", Labels: labels})
	require.NotContains(t, m.Fallback, "more labels")
}

func TestPlainIsTheMessageWithoutMarkup(t *testing.T) {
	t.Parallel()
	m := notifier.Renderer{}.Render(events.Event{
		Title: "a < b & c", Text: "text", Category: "disk", Source: "generic", Severity: events.Info,
		Links: []events.Link{{Title: "Runbook", URL: "https://r.example"}}, StartedAt: time.Unix(1_700_000_000, 0),
	})
	require.Equal(t, "🔵 a < b & c\ntext\ninfo · since 2023-11-14 22:13:20 UTC · disk\nRunbook", notifier.Plain(m))
}

func FuzzRender(f *testing.F) {
	f.Add("title", "text", "label", "https://x.example/?a=b|c", "info")
	f.Add("<!here>&amp;", strings.Repeat("&<>", 2000), "\u202e", "http://[::1]/<", "critical")
	decoder, err := events.NewDecoder(events.Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, title, text, label, link, severity string) {
		all, err := decoder.Decode(events.Webhook{Source: "generic", Body: golden.Encode(t, map[string]any{
			"title": title + "x", "text": text, "labels": map[string]string{label: label}, "link": link, "severity": severity,
		})})
		require.NoError(t, err)
		requireSafe(t, notifier.Renderer{}.Render(all[0]))
		resolved := notifier.NotificationEvent{Event: all[0], ResolvedAt: time.Unix(1_700_000_000, 0)}
		requireSafe(t, notifier.Renderer{}.Notification(notifier.Notification{
			Events: []notifier.NotificationEvent{resolved}, Repeats: 1,
			Dropped: 2, DroppedTitle: title,
		}))
		requireSafe(t, notifier.Renderer{}.Notification(notifier.Notification{
			Events: []notifier.NotificationEvent{resolved, {Event: all[0]}},
			More:   3,
		}))
		for _, body := range markdownBodies(t, text, title, link) {
			n := notificationOf(t, body)
			requireSafe(t, notifier.Renderer{Pages: "https://relay.example.com"}.Notification(n))
			n.Events = append(n.Events, notifier.NotificationEvent{Event: all[0]}, n.Events[0])
			requireSafe(t, notifier.Renderer{Pages: "https://relay.example.com"}.Notification(n))
			n.Events[0].ResolvedAt = time.Unix(1_700_000_000, 0)
			requireSafe(t, notifier.Renderer{}.Notification(n))
			requireCut(t, notifier.Renderer{}.Notification(n).PlainText())
		}
		requireSafe(t, notifier.Renderer{}.Digest(notifier.Digest{
			ID:         "1",
			Channel:    label,
			Categories: []notifier.DigestCategory{{Name: text, Silent: true, Dropped: map[events.Severity]int64{events.Info: 1}}},
			Titles:     []notifier.DigestTitle{{Title: title, Count: 1}},
			Reasons:    []notifier.DigestReason{{Reason: label, Count: 1}},
		}))
		template, err := notifier.ParseTemplate("<{{.Link}}|{{.Title}}>", "{{.Text}}{{range .Labels}} {{.}}{{end}}")
		require.NoError(t, err)
		requireCut(t, notifier.Renderer{Template: template, AllowMentions: true}.Render(all[0]))
		requireCut(t, notifier.Renderer{AllowMentions: true}.Render(all[0]).PlainText())
	})
}

// markdownBodies are webhooks of senders whose texts are Markdown.
func markdownBodies(t *testing.T, text, title, link string) [][]byte {
	t.Helper()
	type fields = map[string]any
	repository := fields{"full_name": "acme/shop", "node_id": "x", "html_url": "https://github.com/acme/shop"}
	return [][]byte{
		golden.Encode(t, fields{"action": "opened", "sender": fields{"login": title}, "repository": repository, "issue": fields{
			"number": 1, "title": title, "body": text, "html_url": link,
		}}),
		golden.Encode(t, fields{
			"object_kind": "note", "project": fields{"path_with_namespace": "a/b"}, "user": fields{"name": title},
			"object_attributes": fields{"note": "[" + title + "](" + link + ") " + text, "url": link},
		}),
		golden.Encode(t, fields{
			"alert_transition": "Triggered", "title": "[P1] [Triggered on {" + link + "}] " + title, "body": "%%%\n" + text,
			"snapshot": link, "url": link, "alert_id": "1",
		}),
		golden.Encode(t, fields{"version": "4", "groupKey": "g", "groupLabels": fields{}, "externalURL": link, "alerts": []fields{{
			"status": "firing", "labels": fields{"alertname": title, "pod": text}, "annotations": fields{"summary": text}, "generatorURL": link,
		}}}),
	}
}

// No text of a sender mentions anybody, whatever Markdown, HTML and markup of Slack it mixes.
func TestMarkdownMentionsNobody(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"<!channel>", "<!here|x>", "<@U0123ABC>", "<!subteam^S0123|@ops>", "@here", "[a](<!channel>)", "[<@U1>](https://x.example)", "**", "`",
		"```",
		"<!--", "-->", "<a href=\"https://x.example/<!here>\">", "</a>", "&lt;!channel&gt;", "&amp;lt;!here&gt;", "\\<", "~~", "\n",
		"![", "<b>", "</b>",
		"](", ")", "<details>", "<img src=https://x.example/1.png>", "<https://x.example|<!channel>>", "|", "\u200b", "[!](<", "# ", "- ",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		for _, body := range markdownBodies(t, b.String(), "t "+b.String(), "https://x.example/"+pieces[random.IntN(len(pieces))]) {
			m := notifier.Renderer{Pages: "https://relay.example.com"}.Notification(notificationOf(t, body))
			requireSafe(t, m)
			for _, text := range append(texts(m), m.PlainText().Text) {
				require.NotRegexp(t, `<\s*(@|!(?:[^d]|d[^a]))`, text, b.String())
			}
		}
	}
}

// requireCut requires that texts are cut, but not inside a character or <...>.
func requireCut(t *testing.T, m notifier.Message) {
	t.Helper()
	for _, text := range texts(m) {
		require.True(t, utf8.ValidString(text))
		require.LessOrEqual(t, utf8.RuneCountInString(text), 4000)
		require.Equal(t, strings.Count(text, "<"), strings.Count(text, ">"), text)
	}
}
