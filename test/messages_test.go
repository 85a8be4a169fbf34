//go:build page

package test

import (
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

func fromSources(t *testing.T) (all []notifier.Message) {
	t.Helper()
	for _, body := range []string{
		`{"action":"completed","sender":{"login":"ada"},"repository":{"full_name":"acme/shop","node_id":"x","html_url":"https://github.com/acme/shop"},
		"workflow_run":{"id":7,"name":"Deploy","conclusion":"failure","head_branch":"main","html_url":"https://github.com/acme/shop/actions/runs/7",
		"display_title":"Charge cards twice as fast","run_started_at":"2026-11-21T12:01:00Z"}}`,
		`{"action":"triggered","installation":{"uuid":"x"},"data":{"triggered_rule":"Checkout errors","event":{"event_id":"e1",
		"title":"KeyError: 'customer_id'","message":"KeyError: 'customer_id'","culprit":"checkout.views.charge","level":"error",
		"environment":"production","release":"shop@4.2.1","datetime":"2026-11-21T12:01:00Z","issue_id":"77",
		"url":"https://sentry.io/api/0/projects/acme/shop/events/e1/","web_url":"https://sentry.io/organizations/acme/issues/77/"}}}`,
		`{"title":"[P2] [Triggered on {host:db-1}] CPU load is high","event_type":"query_alert_monitor","last_updated":"1","org":{"id":"1"},
		"alert_transition":"Triggered","alert_id":"9","severity":"P2","url":"https://app.datadoghq.com/event/event?id=1",
		"body":"%%%\n**system.load.1** over **host:db-1** was **> 5.0** on average during the **last 5m**.\n\n- look at [the slow queries](https://app.datadoghq.com/q)\n- then ` +
			"`pg_stat_activity`" + ` @slack-ops\n%%%","alert_cycle_started":"1795262460","snapshot":"https://p.datadoghq.com/snapshot/1.png",
		"tags":"env:prod,host:db-1,team:storage","scopes":"host:db-1"}`,
		`{"receiver":"relay","status":"firing","orgId":1,"externalURL":"https://grafana.example.com/","groupKey":"g","commonLabels":{},"alerts":[{
		"status":"firing","labels":{"alertname":"API latency","grafana_folder":"Shop","severity":"warning","service":"api","region":"eu-1"},
		"annotations":{"summary":"The API answers slowly","description":"p99 is 4.2 s; the objective is 1 s.",
		"runbook_url":"https://runbooks.example.com/latency"},"startsAt":"2026-11-21T12:01:00Z","valueString":"",
		"generatorURL":"https://grafana.example.com/alerting/1/view","dashboardURL":"https://grafana.example.com/d/1",
		"panelURL":"https://grafana.example.com/d/1?viewPanel=2","silenceURL":"https://grafana.example.com/alerting/silence/new?matcher=a%3Db",
		"imageURL":"https://images.example.com/1.png","fingerprint":"f1"}]}`,
		`{"action":"opened","sender":{"login":"ada"},"repository":{"full_name":"acme/shop","node_id":"x","html_url":"https://github.com/acme/shop"},
		"issue":{"number":42,"title":"Checkout fails with two cards","html_url":"https://github.com/acme/shop/issues/42",
		"body":"<!-- fill in -->\n### Steps\n1. add **two** cards\n2. [pay](https://shop.example.com/pay)\n\n<details>\nIt says @channel, <!channel> and <@U1>.\n</details>"}}`,
	} {
		r := notifier.Renderer{Pages: "https://relay.example.com"}
		all = append(all, r.Notification(notifier.Notification{Events: decoded(t, body)}))
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
