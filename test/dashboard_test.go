//go:build page

package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier"
	"slackrelay/notifier/fakeslack"
)

// It updates live, replays a dead letter, pauses a channel and adds a silence, without an error in the console.
func TestDashboardFollowsAStorm(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	slack.Script("C0ALERTS", fakeslack.APIError("is_archived"))
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNELS=alerts,quiet",
		"RELAY_CHANNEL_QUIET_SLACK_CHANNEL=C0QUIET", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=5")...)
	relay.post(t, "alerts", event{Title: "refused by Slack", Category: "first"})
	require.Eventually(t, func() bool { return relay.status(t, "alerts").Ledger.Failed == 1 }, 20*time.Second, 20*time.Millisecond)

	b := openBrowser(t)
	b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(relay.ops+"/"))
	b.shows(t, "refused by Slack")
	b.shows(t, "is_archived")
	for i := range 60 {
		relay.post(t, "alerts", []event{
			{Title: fmt.Sprintf("Disk full on db-%d", i), Category: fmt.Sprintf("service-%02d", i%7)},
			{Title: fmt.Sprint("Slow answers ", i), Category: "web"},
		})
	}
	b.shows(t, "Disk full on db-59")
	b.shows(t, "category: 5 of 5")
	b.shows(t, "Redis up · 1 replica · Slack ok")
	b.shows(t, "dropping: a limit is reached")
	require.NotContains(t, b.text(t), "Send again", "nobody signed in")
	var points int
	require.Eventually(t, func() bool {
		b.do(t, chromedp.Evaluate("document.querySelectorAll('#chart canvas').length", &points))
		return points == 1
	}, 10*time.Second, 50*time.Millisecond)
	require.NotContains(t, b.text(t), "Refused requests", "nothing was")
	b.picture(t, "light", 1280, false)
	b.picture(t, "dark", 1280, true)
	b.picture(t, "phone", 390, false)
	b.do(t, chromedp.EmulateViewport(1280, 900))

	b.do(t, chromedp.SendKeys("input[name=token]", "wrong\n"))
	b.shows(t, "That is not the admin token.")
	b.do(t, chromedp.Evaluate("document.querySelector('input[name=token]').value = ''", nil),
		chromedp.SendKeys("input[name=token]", "4dm1n\n"))
	b.shows(t, "Send again")
	b.do(t, chromedp.Click("button.replay"))
	require.Eventually(t, func() bool {
		ledger := relay.status(t, "alerts").Ledger
		return ledger.Failed == 1 && ledger.Received == 122
	}, 20*time.Second, 20*time.Millisecond, "it counts as received again")
	b.shows(t, "Admitted: it will be posted.")
	b.shows(t, "No dead letters.")

	var asked atomic.Value
	chromedp.ListenTarget(b.ctx, func(event any) {
		if dialog, ok := event.(*page.EventJavascriptDialogOpening); ok {
			asked.Store(dialog.Message)
			go chromedp.Run(b.ctx, page.HandleJavaScriptDialog(true))
		}
	})
	b.press(t, "button.again")
	b.shows(t, "Still over the category limit: dropped again (next slot in ")
	b.press(t, "button.force")
	b.shows(t, "Admitted past the limits: it will be posted.")
	require.Contains(t, asked.Load(), "Post this in alerts past its limits?")
	require.Equal(t, int64(1), relay.status(t, "alerts").Ledger.Forced)
	relay.post(t, "alerts", alertmanager(alert("Over", "aa", "resolved", "never posted")))
	b.shows(t, "suppressed")
	var buttons string
	b.do(t, chromedp.Evaluate(`[...document.querySelectorAll('tr')].find((r) => r.innerText.includes('suppressed'))`+
		`.querySelector('td:last-child').innerText`, &buttons))
	require.Equal(t, "Post anyway", strings.TrimSpace(buttons))

	b.do(t, chromedp.Click(`//button[text()="Pause for 1 h"]`))
	b.shows(t, "Paused until")
	require.NotNil(t, relay.status(t, "alerts").State.PausedUntil)
	b.do(t, chromedp.Click(`//button[text()="Resume"]`))
	b.shows(t, "Pause for 1 h")

	b.do(t, chromedp.SendKeys("input[name=matcher]", "category=web"), chromedp.SendKeys("input[name=author]", "eve"),
		chromedp.SendKeys("input[name=reason]", "deploy\n"))
	b.shows(t, "category=web")
	require.Equal(t, 1, relay.post(t, "alerts", event{Title: "x", Category: "web"}).Muted)
	b.picture(t, "phone signed in", 390, true)
	b.do(t, chromedp.EmulateViewport(1280, 900))

	b.do(t, chromedp.Click(`//button[.//h3[text()="quiet"]]`))
	b.shows(t, "quiet: the last hour")
	complaints := b.consoleErrors()
	require.Len(t, complaints, 1, "%v", complaints)
	require.Contains(t, complaints[0], "401", "of the wrong token alone")
}

// It shows origin and reason to those who may read them, and signs out.
func TestDashboardShowsRefusals(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=s3cret")...)
	for range 12 {
		request(t, http.MethodPost, relay.public+"/hooks/alerts/alertmanager", "the token before", []byte("{}"))
	}
	request(t, http.MethodPost, relay.public+"/hooks/alerts/generic", "s3cret", []byte(`{"title":"<b>x</b>","severity":7}`))
	request(t, http.MethodPost, relay.public+"/hooks/allerts", "", []byte("{}"))
	for i := range 20 {
		request(t, http.MethodPost, fmt.Sprintf("%s/%s%d", relay.public, strings.Repeat("long-", 40), i), "", nil)
	}
	b := openBrowser(t)
	b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(relay.ops+"/"))
	b.shows(t, "Refused requests")
	b.shows(t, "This replica refused 34 requests since it started")
	b.shows(t, "wrong or missing credential")
	b.shows(t, `no channel is called "allerts"`)
	b.shows(t, "severity must be a string")
	b.shows(t, "12 times")
	b.picture(t, "refused light", 1280, false)
	b.picture(t, "refused dark", 1280, true)
	b.picture(t, "refused phone", 390, false)
	request(t, http.MethodPost, relay.public+"/hooks/alerts", "wrong", []byte("{}"))
	b.shows(t, "This replica refused 35 requests since it started")

	b.do(t, chromedp.SendKeys("input[name=token]", "4dm1n\n"))
	b.shows(t, "Sign out")
	b.do(t, chromedp.Click(`//button[text()="Sign out"]`))
	require.Eventually(t, func() bool {
		var shown bool
		b.do(t, chromedp.Evaluate("document.querySelector('input[name=token]') !== null", &shown))
		return shown
	}, 20*time.Second, 50*time.Millisecond)
	require.NotContains(t, b.text(t), "Sign out")
	require.Empty(t, b.consoleErrors())
}

// A page of another site reads and changes nothing through an operator's browser: neither by DNS rebinding nor by a form.
func TestDashboardRefusesOtherSites(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1")
	relay.post(t, "alerts", []event{{Title: "private", Category: "a"}, {Title: "private too", Category: "a"}})
	b := openBrowser(t, chromedp.Flag("host-resolver-rules", "MAP rebind.test 127.0.0.1"))
	b.do(t, chromedp.Navigate(strings.Replace(relay.ops, "127.0.0.1", "rebind.test", 1)+"/api/v1/channels/alerts/drops"))
	b.shows(t, "misdirected")
	require.NotContains(t, b.text(t), "private")

	var answer int
	public, err := json.Marshal(relay.public + "/hooks/alerts")
	require.NoError(t, err)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }))
	t.Cleanup(page.Close)
	b.do(t, chromedp.Navigate(page.URL), chromedp.Evaluate(
		`fetch(`+string(public)+`, {method: 'POST', mode: 'no-cors', headers: {'Content-Type': 'text/plain'}, `+
			`body: '{"title":"by a page"}'}).then(r => r.status)`,
		&answer, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	require.Zero(t, answer, "a page of another site gets no answer")
	require.Equal(t, int64(2), relay.status(t, "alerts").Ledger.Received)
	require.Equal(t, "1", relay.metric(t, `relay_requests_refused_total{channel="alerts",code="forbidden"}`))
}

func TestPreviewShowsTheMessagesOfAChannelWithoutSlack(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=1")
	relay.post(t, "alerts", event{Title: "<b>Disk full</b> & more", Category: "disk"})
	b := openBrowser(t)
	b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(relay.ops+"/"))
	b.shows(t, "What Slack would show")
	b.shows(t, "Redis none")
	b.shows(t, "Slack none: shown below")
	b.shows(t, "a limit is reached")
	b.accessible(t)
	b.shows(t, "🟡 <b>Disk full</b> & more")
	require.Empty(t, b.consoleErrors())
	relay.kill()
	b.shows(t, "connection lost")
}

func TestDashboardReportsARedisOutage(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_REPLICAS=1")...)
	b := openBrowser(t)
	b.do(t, chromedp.Navigate(relay.ops+"/"))
	b.shows(t, "Redis up")
	redis.Kill()
	b.shows(t, "Redis away")
	b.shows(t, "channel alerts continues without Redis (local)")
	b.shows(t, "Redis cannot be reached; check that Redis is running")
	redis.Up()
	b.shows(t, "Redis up")
}

func TestDashboardNamesMissingHeartbeats(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	path := configFile(t, heartbeatFile("  - {name: backup, channel: alerts, every: 1s, grace: 1s}\n"+
		"  - {name: hourly, channel: alerts, every: 1h}\n"))
	relay := startRelay(t, withFile(redis.URL, slack.APIURL(), path)...)
	relay.beat(t, "backup")
	b := openBrowser(t)
	b.do(t, chromedp.Navigate(relay.ops+"/"))
	require.Eventually(t, func() bool { return relay.heartbeat(t, "backup").State == "missing" }, 20*time.Second, 20*time.Millisecond)
	b.shows(t, "Heartbeats 1 of 2 missing: backup")
}

// Changes are refused, also those that a page of another site requests.
func TestDashboardShowsOnlyCountsWithoutTheToken(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_OPS_LISTEN=0.0.0.0:0", "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNELS=alerts",
		"RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1")
	relay.post(t, "alerts", []event{{Title: "very private", Category: "a"}, {Title: "very private too", Category: "a"}})
	b := openBrowser(t)
	b.do(t, chromedp.Navigate(relay.ops+"/"))
	b.shows(t, "hidden")
	require.NotContains(t, b.text(t), "very private")
	b.do(t, chromedp.SendKeys("input[name=token]", "4dm1n\n"))
	b.shows(t, "very private too")
	var cookie string
	b.do(t, chromedp.Evaluate("document.cookie", &cookie))
	require.Empty(t, cookie, "no script can read it")

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, relay.ops+"/api/v1/channels/alerts/pause", strings.NewReader("{}"))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer 4dm1n")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusForbidden, response.StatusCode)
	var status any
	_, answer := request(t, http.MethodGet, relay.ops+"/api/v1/channels/alerts", "", nil)
	require.NoError(t, json.Unmarshal(answer, &status))
}

// It shows a page of many channels, turns pages and filters.
func TestDashboardPagesManyChannels(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("team-%04d", i))
	}
	relay := startRelay(t, "RELAY_CHANNELS="+strings.Join(names, ","), "RELAY_ADMIN_TOKEN=4dm1n")
	relay.post(t, "team-0777", event{Title: "Disk full", Category: "disk"})
	b := openBrowser(t)
	b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(relay.ops+"/"))
	b.shows(t, "1 to 48 of 1,000")
	b.shows(t, "team-0000: the last hour")
	b.picture(t, "many light", 1280, false)
	b.do(t, chromedp.Click(`//button[text()="Next"]`))
	b.shows(t, "49 to 96 of 1,000")
	b.shows(t, "team-0095")
	b.do(t, chromedp.Click(`//button[text()="Previous"]`))
	b.shows(t, "1 to 48 of 1,000")
	b.do(t, chromedp.SendKeys("input[name=name]", "0777"))
	b.shows(t, "1 to 1 of 1 (1,000 in all)")
	b.do(t, chromedp.Click(`//button[.//h3[text()="team-0777"]]`))
	b.shows(t, "team-0777: the last hour")
	b.picture(t, "many phone", 390, true)
	require.Empty(t, b.consoleErrors())
}

// A link in a message opens the form for a silence, filled in for the alert, also after signing in.
func TestDashboardFollowsTheLinkOfAMessageToASilence(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNELS=other,alerts",
		"RELAY_CHANNEL_OTHER_SLACK_CHANNEL=C0OTHER")...)
	b := openBrowser(t)
	silence := notifier.Pages(relay.ops).Silence("alerts", "category=disk", "label.host=db 1&2")
	b.do(t, chromedp.EmulateViewport(1280, 600), chromedp.Navigate(silence))
	b.shows(t, "alerts: the last hour")
	b.do(t, chromedp.SendKeys("input[name=token]", "4dm1n\n"))
	b.shows(t, "Sign out")
	b.do(t, chromedp.SendKeys("input[name=author]", "eve"), chromedp.SendKeys("input[name=reason]", "deploy\n"))
	b.shows(t, "category=disk and label.host=db 1&2")
	var matchers int
	b.do(t, chromedp.Evaluate(`document.querySelectorAll("input[name=matcher]").length`, &matchers))
	require.Equal(t, 1, matchers, "the form is empty again")
	disk := event{Title: "x", Category: "disk", Labels: map[string]string{"host": "db 1&2"}}
	require.Equal(t, 1, relay.post(t, "alerts", disk).Muted)
	b.do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(relay.ops+"/#%E0%A4&show=nothing"))
	b.shows(t, "other: the last hour")
	require.Empty(t, b.consoleErrors())
}
