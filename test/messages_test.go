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
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

// PICTURES=dir keeps what the messages look like: messages-alerts.png and messages-sources.png are in docs/img.
func TestPreviewOfMessages(t *testing.T) {
	t.Parallel()
	pages := map[string][]notifier.Message{
		"messages-alerts":  {pictured(t, 1, 0), pictured(t, 20, 0), pictured(t, 20, 14), pictured(t, 1, 1)},
		"messages-sources": fromSources(t),
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
				headline := notifier.Plain(notifier.Message{Text: m.Text})
				b.shows(t, strings.TrimSuffix(headline[strings.Index(headline, " ")+1:], " <!here>"))
			}
			if folder := os.Getenv("PICTURES"); folder != "" { //nolint:forbidigo // for the documents, and the eyes of a person
				require.NoError(t, os.WriteFile(filepath.Join(folder, name+map[string]string{"dark": "-dark"}[scheme]+".png"), png, 0o644))
			}
		}
	}
	require.Empty(t, b.consoleErrors())
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
