package notifier_test

import (
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

// Slack loads pictures itself: one that it cannot reach would cost the layout.
func TestOnlyPublicPicturesAreShown(t *testing.T) {
	t.Parallel()
	for address, shown := range map[string]bool{
		"https://images.example.com/1.png":  true,
		"https://203.0.113.7/1.png":         true,
		"http://images.example.com/1.png":   false,
		"https://user:pw@images.example/1":  false,
		"https://grafana/1.png":             false,
		"https://grafana.internal/1.png":    false,
		"https://grafana.shop.svc/1.png":    false,
		"https://10.0.0.7/1.png":            false,
		"https://127.0.0.1/1.png":           false,
		"https://[fd00::1]/1.png":           false,
		"https://grafana.home.LOCAL./1.png": false,
	} {
		e := events.Event{
			Title: "hot <!here> & more", Severity: events.Error, Category: "c", Status: events.Firing,
			Links: []events.Link{{Title: "Panel", URL: "https://grafana.example.com"}, {Title: "Image", URL: address, Image: true}},
		}
		m := notifier.Renderer{}.Render(e)
		requireAccepted(t, m)
		requireSafe(t, m)
		without, had := m.WithoutImages()
		require.Equal(t, shown, had, address)
		require.NotContains(t, blockTypes(without), slack.MBTImage)
		require.Contains(t, m.PlainText().Text, "|Image>", "the link stays")
		e.Status = events.Resolved
		_, had = notifier.Renderer{}.Render(e).WithoutImages()
		require.False(t, had, "it shows what is over")
	}
}

func blockTypes(m notifier.Message) (all []slack.MessageBlockType) {
	for _, b := range m.Blocks {
		all = append(all, b.BlockType())
	}
	return all
}

func TestLinksOfStrangersDoNotPretendToBeTheRelays(t *testing.T) {
	t.Parallel()
	m := notifier.Renderer{Pages: "https://relay.example.com"}.Render(events.Event{
		Title: "x", Channel: "alerts", Category: "c", Severity: events.Error, Status: events.Firing,
		Links: []events.Link{{Title: "Issue", URL: "https://a.example"}, {Title: "open in Relay", URL: "https://evil.example"}},
	})
	require.Contains(t, m.Links, "<https://evil.example|https://evil.example>")
	require.Contains(t, m.Links, "<https://relay.example.com/#alerts|Open in relay>")
}

// A message leaves room for one more block, and its links fit it however long they are.
func TestMessagesHaveFewBlocksAndBoundedLinks(t *testing.T) {
	t.Parallel()
	e := events.Event{
		Title: "x", Channel: "alerts", Category: "c", Severity: events.Error, Status: events.Firing, Text: "text", Source: "alertmanager",
		Labels: map[string]string{"alertname": "X", "pod": strings.Repeat("p", 900), "host": strings.Repeat("h", 140)},
	}
	for range 10 {
		e.Links = append(e.Links, events.Link{Title: "Alertmanager", URL: "https://am.example/" + strings.Repeat("a", 1500)})
	}
	n := notifier.Notification{Events: []notifier.NotificationEvent{{Event: e}}, Repeats: 3}
	for range 2 {
		m := notifier.Renderer{Pages: "https://relay.example.com"}.Notification(n)
		requireSafe(t, m)
		requireAccepted(t, m)
		require.LessOrEqual(t, len(m.Blocks), 6)
		n.Events = append(n.Events, n.Events[0])
	}
}

// What is over is said as over: without the text and the severity of its firing, unless the sender has news.
func TestResolveSaysNothingInThePresentTense(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, title, text string
		headline            string
		says                bool
	}{
		{"alertmanager", "Disk is full", "It will be full in 4 hours.", "✅ *Resolved: Disk is full*", false},
		{"datadog", "CPU is high", "CPU load exceeded its threshold.", "✅ *Resolved: CPU is high*", false},
		{"datadog", "CPU is high", "CPU load recovered.", "✅ *Resolved: CPU is high*", true},
		{"uptime_kuma", "Shop is up", "200 OK", "✅ *Shop is up*", true},
		{"github", "Deploy succeeded on main", "Charge cards", "✅ *Deploy succeeded on main*", true},
	} {
		m := notifier.Renderer{}.Render(events.Event{
			Source: c.source, Title: c.title, Text: c.text, Severity: events.Critical, Status: events.Resolved, Category: "c",
		})
		require.Equal(t, c.headline, m.Text)
		require.Equal(t, c.says, strings.Contains(m.Fallback, c.text), c.source)
		require.NotContains(t, notifier.Plain(m), "\ncritical", c.source)
	}
}
