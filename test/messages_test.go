//go:build page

package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

// With PICTURES=dir, it keeps what the messages look like: make pictures puts those of docs/img there.
func TestPreviewOfMessages(t *testing.T) {
	t.Parallel()
	pages := map[string][]shown{
		"messages-alerts":  visible(pictured(t, 1, 0), pictured(t, 20, 0), pictured(t, 20, 14), pictured(t, 1, 1)),
		"messages-sources": visible(fromSources(t)...),
		"messages-acting":  acted(t),
		"messages-digest":  {{Message: digested(t), at: "12:26"}, {Message: heldBack(t), at: time.Now().UTC().Format("15:04"), isOwn: true}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, slackPage(t, pages[strings.TrimPrefix(r.URL.Path, "/")]))
	}))
	defer server.Close()
	b := openBrowser(t)
	for name, messages := range pages {
		for _, scheme := range []string{"light", "dark"} {
			var png []byte
			b.do(t, chromedp.EmulateViewport(700, 200),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.Navigate(server.URL+"/"+name), chromedp.FullScreenshot(&png, 100))
			for _, m := range messages {
				headline, _, _ := strings.Cut(notifier.Plain(notifier.Message{Text: m.Text}), "\n")
				_, said, _ := strings.Cut(headline, " ") // after the icon
				said, _, _ = strings.Cut(said, " <!")
				b.shows(t, said)
			}
			if folder := os.Getenv("PICTURES"); folder != "" { //nolint:forbidigo // for the documents, and the eyes of a person
				require.NoError(t, os.WriteFile(filepath.Join(folder, name+map[string]string{"dark": "-dark"}[scheme]+".png"), png, 0o644))
			}
		}
	}
	require.Empty(t, b.consoleErrors())
}

// visible are messages that everybody sees, outside of threads.
func visible(messages ...notifier.Message) (all []shown) {
	for _, m := range messages {
		all = append(all, shown{Message: m})
	}
	return all
}

// acted are messages that people acted on, or did not.
func acted(t *testing.T) (all []shown) {
	t.Helper()
	began := time.Date(2026, 11, 21, 12, 2, 0, 0, time.UTC)
	alert := func(name, severity, labels, summary string) notifier.Notification {
		return notifier.Notification{
			Reference: notifier.Reference{Channel: "alerts", Number: 1},
			Events: decoded(t, fmt.Sprintf(`{"version":"4","groupKey":"g","status":"firing","externalURL":"https://alertmanager.example.com",
				"alerts":[{"status":"firing","labels":{"alertname":%q,"severity":%q,%s},"annotations":{"summary":%q,
				"runbook_url":"https://runbooks.example.com/%s"},"startsAt":%q,"fingerprint":%[1]q,
				"generatorURL":"https://prometheus.example.com/graph"}]}`,
				name, severity, labels, summary, name, began.Format(time.RFC3339))),
		}
	}
	r := notifier.Renderer{Pages: "https://relay.example.com", Buttons: true, Mutes: true, ReminderMention: notifier.Mention("SONCALL")}
	checkout := alert("CheckoutDown", "critical", `"cluster":"prod-1","namespace":"shop"`, "Checkout answers 5xx to 38 % of customers")
	acknowledged, muted := checkout, alert("DiskFull", "warning", `"instance":"db-1","mountpoint":"/var"`, "/var on db-1 is full in 4 hours")
	acknowledged.Acknowledged = &notifier.Mark{Name: "Ada", At: began.Add(3 * time.Minute)}
	acknowledged.Repeats, acknowledged.LastRepeatAt = 4, began.Add(25*time.Minute)
	muted.Muted = &notifier.Mark{Name: "Grace", At: began, Until: began.Add(4 * time.Hour)}
	lag := alert("ReplicaLag", "error", `"cluster":"prod-1","instance":"db-2"`, "db-2 is 9 minutes behind its primary")
	reminder := r.Reminder(notifier.Reminder{Event: lag.Events[0].Event, Firing: 1, Total: 1, Since: 30 * time.Minute})
	all = visible(r.Notification(checkout), r.Notification(acknowledged), r.Notification(muted), r.Notification(lag))
	for i := range all {
		all[i].at = "12:02"
	}
	return append(all, shown{Message: reminder, at: "12:32", isReply: true})
}

// digested is the digest with chart and table whose golden the package notifier keeps.
func digested(t *testing.T) notifier.Message {
	t.Helper()
	raw, err := os.ReadFile("../notifier/testdata/digest_chart.json")
	require.NoError(t, err)
	var example struct{ Digest notifier.Digest }
	require.NoError(t, json.Unmarshal(raw, &example))
	example.Digest.Reference = notifier.Reference{Channel: "alerts", Number: 1}
	return notifier.Renderer{Pages: "https://relay.example.com", Buttons: true, Mutes: true}.Digest(example.Digest)
}

// heldBack is what a user sees who clicks on Show held back.
func heldBack(t *testing.T) notifier.Message {
	t.Helper()
	fake := startSlack(t)
	fake.AppToken = "xapp-1-A0001-2-hush"
	relay := startRelay(t, fast("", fake, "RELAY_SLACK_APP_TOKEN="+fake.AppToken, "RELAY_CHANNEL_ALERTS_OPERATORS=U01",
		"RELAY_CHANNEL_ALERTS_DIGEST=true", "RELAY_CHANNEL_ALERTS_DIGEST_INTERVAL=1s", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1")...)
	require.Eventually(t, func() bool { return fake.Sockets() > 0 }, 15*time.Second, 10*time.Millisecond)
	for i := range 8 {
		relay.post(t, "alerts", event{Category: "checkout", Title: fmt.Sprintf("Checkout of shop-%d answers 5xx", i), Severity: "critical"})
	}
	require.Eventually(t, func() bool {
		for _, post := range fake.Posts() {
			_ = fake.Click("U01", post.TS, notifier.ActionShowDrops) // only the digest has the button
		}
		return len(fake.Answers("U01")) > 0
	}, 10*time.Second, 50*time.Millisecond)
	answer := fake.Answers("U01")[0]
	var blocks slack.Blocks
	require.NoError(t, json.Unmarshal(answer.Blocks, &blocks))
	return notifier.Message{Text: "📋 " + answer.Text, Blocks: blocks.BlockSet, Wide: true}
}

// pictured is the message of an alert, or of a group, some of which are resolved.
func pictured(t *testing.T, size, resolved int) notifier.Message {
	t.Helper()
	began := time.Date(2026, 11, 21, 12, 2, 0, 0, time.UTC)
	var alerts []string
	for i := range size {
		pod := fmt.Sprintf("checkout-7f9c-%c%d", 'a'+i%5, i)
		alerts = append(alerts, fmt.Sprintf(`{"status":"firing","labels":{"alertname":"PodCrashLooping","severity":"critical","cluster":"prod-1",
			"namespace":"shop","pod":%q,"container":"checkout","job":"kube-state-metrics"},"annotations":{"summary":%q,
			"description":"Pod shop/%s (checkout) is waiting: CrashLoopBackOff.","runbook_url":"https://runbooks.example.com/PodCrashLooping"},
			"startsAt":%q,"generatorURL":"https://prometheus.example.com/graph?g0.expr=%d","fingerprint":"%d"}`,
			pod, map[bool]string{true: "Checkout in prod-1 is crash looping: " + pod, false: "Pod is crash looping"}[size == 1],
			pod, began.Format(time.RFC3339), i, i))
	}
	all := decoded(t, `{"version":"4","groupKey":"g","status":"firing","groupLabels":{"alertname":"PodCrashLooping"},
		"commonLabels":{"alertname":"PodCrashLooping","cluster":"prod-1","namespace":"shop","severity":"critical","container":"checkout",
		"job":"kube-state-metrics"},"externalURL":"https://alertmanager.example.com","alerts":[`+strings.Join(alerts, ",")+`]}`)
	for i := range resolved {
		all[i].ResolvedAt = began.Add(2*time.Hour + 10*time.Minute + time.Duration(i)*time.Second)
	}
	r := notifier.Renderer{Pages: "https://relay.example.com", Mentions: map[events.Severity]string{events.Critical: notifier.Mention("here")}}
	return r.Notification(notifier.Notification{Events: all})
}

// fromSources are the messages of webhooks whose goldens the package notifier keeps.
func fromSources(t *testing.T) (all []notifier.Message) {
	t.Helper()
	for _, name := range []string{"github_run", "sentry", "datadog", "grafana", "github_issue"} {
		raw, err := os.ReadFile("../notifier/testdata/from_" + name + ".json")
		require.NoError(t, err)
		var example struct{ Webhook json.RawMessage }
		require.NoError(t, json.Unmarshal(raw, &example))
		r := notifier.Renderer{Pages: "https://relay.example.com"}
		all = append(all, r.Notification(notifier.Notification{Events: decoded(t, string(example.Webhook))}))
	}
	return all
}

// decoded returns the events of a webhook for the channel alerts.
func decoded(t *testing.T, body string) (all []notifier.NotificationEvent) {
	t.Helper()
	decoder, err := events.NewDecoder(events.Options{})
	require.NoError(t, err)
	list, err := decoder.Decode(events.Webhook{Body: []byte(body)})
	require.NoError(t, err)
	for _, e := range list {
		e.Channel = "alerts"
		all = append(all, notifier.NotificationEvent{Event: e})
	}
	return all
}
