package test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
)

// realAlertmanager is a running Alertmanager.
type realAlertmanager struct {
	url string
	log *output
}

// startAlertmanager starts one with these receivers, the first of which gets everything, in groups by alert name.
func startAlertmanager(tb testing.TB, receivers string) *realAlertmanager {
	tb.Helper()
	path, err := exec.LookPath("prometheus-alertmanager")
	require.NoError(tb, err, "install the Debian package prometheus-alertmanager; make test does")
	config := filepath.Join(tb.TempDir(), "alertmanager.yml")
	require.NoError(tb, os.WriteFile(config, []byte(`
route: {receiver: relay, group_by: [alertname], group_wait: 100ms, group_interval: 500ms, repeat_interval: 1h}
receivers:
`+receivers), 0o600))
	cmd := exec.Command(path, "--config.file="+config, "--storage.path="+tb.TempDir(), "--web.listen-address=127.0.0.1:0",
		"--cluster.listen-address=")
	stderr, err := cmd.StderrPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	am := &realAlertmanager{log: &output{}}
	listens, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		address := regexp.MustCompile(`msg="Listening on" address=(\S+)`)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			am.log.Write(append(lines.Bytes(), '\n'))
			if found := address.FindStringSubmatch(lines.Text()); found != nil {
				listens <- found[1]
			}
		}
		cmd.Wait()
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	select {
	case address := <-listens:
		am.url = "http://" + address
	case <-ended:
		tb.Fatalf("alertmanager ended:\n%s", am.log)
	}
	return am
}

// send sends it alerts as Prometheus does: firing, or resolved.
func (am *realAlertmanager) send(tb testing.TB, resolved bool, hosts ...string) {
	tb.Helper()
	am.sendSince(tb, time.Now().Add(-time.Minute).Truncate(time.Minute), resolved, hosts...)
}

func (am *realAlertmanager) sendSince(tb testing.TB, since time.Time, resolved bool, hosts ...string) {
	tb.Helper()
	type postableAlert struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		StartsAt    time.Time         `json:"startsAt"`
		EndsAt      *time.Time        `json:"endsAt,omitempty"`
	}
	var all []postableAlert
	for _, host := range hosts {
		one := postableAlert{
			Labels:      map[string]string{"alertname": "DiskFull", "severity": "critical", "instance": host},
			Annotations: map[string]string{"summary": "Disk full on " + host}, StartsAt: since,
		}
		if resolved {
			now := time.Now()
			one.EndsAt = &now
		}
		all = append(all, one)
	}
	encoded, err := json.Marshal(all)
	require.NoError(tb, err)
	status, answer := request(tb, http.MethodPost, am.url+"/api/v2/alerts", "", encoded)
	require.Equal(tb, http.StatusOK, status, "%s", answer)
}

// notified reads how many notifications an integration sent, and how many of them failed, from the metrics.
func (am *realAlertmanager) notified(tb testing.TB, integration string) (sent, failed string) {
	tb.Helper()
	_, answer := request(tb, http.MethodGet, am.url+"/metrics", "", nil)
	for line := range strings.Lines(string(answer)) {
		if rest, ok := strings.CutPrefix(line, `alertmanager_notifications_total{integration="`+integration+`"} `); ok {
			sent = strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, `alertmanager_notifications_failed_total{integration="`+integration+`"} `); ok {
			failed = strings.TrimSpace(rest)
		}
	}
	return sent, failed
}

// It covers a firing, a group that grows, and the resolve.
func TestAlertmanagerWebhookPostsAndEditsOneMessage(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_BUNDLE=off", "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok")...)
	am := startAlertmanager(t, `
  - name: relay
    webhook_configs: [{url: "`+relay.public+`/hooks/alerts", http_config: {authorization: {credentials: tok}}}]
`)
	am.send(t, false, "db-1")
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 }, 10*time.Second, 10*time.Millisecond, am.log)
	am.send(t, false, "db-1", "db-2", "db-3")
	require.Eventually(t, func() bool { return len(slack.Posts()) == 3 }, 10*time.Second, 10*time.Millisecond, "db-1 is a duplicate")
	am.send(t, true, "db-1", "db-2", "db-3")
	require.Eventually(t, func() bool {
		edited := 0
		for _, post := range slack.Posts() {
			if len(post.Edits) > 0 && strings.Contains(post.Edits[0].Get("text"), "Resolved: Disk full on db-") {
				edited++
			}
		}
		return edited == 3
	}, 10*time.Second, 10*time.Millisecond)
	require.Len(t, slack.Posts(), 3)
	sent, failed := am.notified(t, "webhook")
	require.NotEqual(t, "0", sent)
	require.Equal(t, "0", failed)
	status := relay.status(t, "alerts")
	require.Zero(t, status.Ledger.Imbalance())
	require.Equal(t, int64(3), status.Ledger.Admitted)
	require.Equal(t, int64(3), status.Ledger.Merged)
	require.Equal(t, "diskfull", status.Categories[0].Category)
	taken := strings.Count(relay.output.String(), `"msg":"webhook accepted","channel":"alerts","sender":"default","source":"alertmanager"`)
	require.Equal(t, sent, strconv.Itoa(taken))
}

// The group is larger than what its message lists, and resolves in two parts.
func TestAlertmanagerGroupEndsAsOneGreenMessage(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok")...)
	am := startAlertmanager(t, `
  - name: relay
    webhook_configs: [{url: "`+relay.public+`/hooks/alerts", http_config: {authorization: {credentials: tok}}}]
`)
	hosts := make([]string, 20)
	for i := range hosts {
		hosts[i] = "db-" + strconv.Itoa(i)
	}
	am.send(t, false, hosts...)
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 }, 10*time.Second, 10*time.Millisecond, am.log)
	shows := func(headline string) {
		require.Eventually(t, func() bool { text, _ := shownLast(slack.Posts()[0]); return text == headline }, 10*time.Second,
			10*time.Millisecond, headline)
	}
	am.send(t, true, hosts[12:]...)
	shows("🔴 *DiskFull* — 12 firing, 8 resolved")
	am.send(t, true, hosts[:12]...)
	shows("✅ *DiskFull* — 20 resolved")
	require.Len(t, slack.Posts(), 1)
}

// Alertmanager flushes a group at once when it gets the first alert that is older than group_wait: the first notification
// may list only some of the alerts, and the next one adds the others.
func TestAlertmanagerGroupThatIsFlushedInPartsIsOneMessage(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok")...)
	am := startAlertmanager(t, `
  - name: relay
    webhook_configs: [{url: "`+relay.public+`/hooks/alerts", http_config: {authorization: {credentials: tok}}}]
`)
	hosts := make([]string, 20)
	for i := range hosts {
		hosts[i] = "db-" + strconv.Itoa(i)
	}
	am.send(t, false, hosts[:7]...)
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 }, 10*time.Second, 10*time.Millisecond, am.log)
	am.send(t, false, hosts...)
	shows := func(headline string) {
		require.Eventually(t, func() bool { text, _ := shownLast(slack.Posts()[0]); return text == headline }, 10*time.Second,
			10*time.Millisecond, headline)
	}
	shows("🔴 *DiskFull* — 20 firing")
	am.send(t, true, hosts[12:]...)
	shows("🔴 *DiskFull* — 12 firing, 8 resolved")
	am.send(t, true, hosts[:12]...)
	shows("✅ *DiskFull* — 20 resolved")
	require.Len(t, slack.Posts(), 1)
}

// Alertmanager talks to the relay as it talks to Slack.
func TestAlertmanagerSlackReceiverPostsThroughTheRelay(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok")...)
	am := startAlertmanager(t, `
  - name: relay
    slack_configs: [{api_url: "`+relay.public+`/services/alerts/tok?category=prometheus", channel: "#ops", send_resolved: true}]
`)
	am.send(t, false, "db-1")
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 }, 10*time.Second, 10*time.Millisecond, am.log)
	am.send(t, false, "db-1", "db-2")
	require.Eventually(t, func() bool { return len(slack.Posts()) == 2 }, 10*time.Second, 10*time.Millisecond, am.log)
	am.send(t, true, "db-1", "db-2")
	require.Eventually(t, func() bool { return len(slack.Posts()) == 3 }, 10*time.Second, 10*time.Millisecond, am.log)
	for i, title := range []string{"[FIRING:1] DiskFull", "[FIRING:2] DiskFull", "[RESOLVED] DiskFull"} {
		require.Contains(t, slack.Posts()[i].Form.Get("attachments"), title)
	}
	sent, failed := am.notified(t, "slack")
	require.NotEqual(t, "0", sent)
	require.Equal(t, "0", failed)
	status := relay.status(t, "alerts")
	require.Equal(t, int64(3), status.Ledger.Delivered)
	require.Equal(t, "prometheus", status.Categories[0].Category)
}

// Alertmanager would give up a notification that failed.
func TestAlertmanagerCountsNoFailureWhenThrottled(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok", "RELAY_CHANNEL_ALERTS_GLOBAL_LIMIT=1",
		"RELAY_CHANNEL_ALERTS_BUNDLE=off")...)
	am := startAlertmanager(t, `
  - name: relay
    webhook_configs: [{url: "`+relay.public+`/hooks/alerts", http_config: {authorization: {credentials: tok}}}]
    slack_configs: [{api_url: "`+relay.public+`/services/alerts/tok", channel: "#ops"}]
`)
	am.send(t, false, "db-1", "db-2", "db-3")
	require.Eventually(t, func() bool { return relay.status(t, "alerts").Ledger.Received == 4 }, 10*time.Second, 10*time.Millisecond, am.log)
	require.Equal(t, int64(1), relay.status(t, "alerts").Ledger.Admitted)
	require.Equal(t, int64(3), relay.status(t, "alerts").Ledger.Dropped)
	for _, integration := range []string{"webhook", "slack"} {
		require.Eventually(t, func() bool {
			sent, failed := am.notified(t, integration)
			return sent == "1" && failed == "0"
		}, 10*time.Second, 10*time.Millisecond, integration)
	}
}

// They do not know each other, and send the same alerts to two replicas.
func TestAlertsOfTwoAlertmanagersAreDeduplicated(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_BUNDLE=off", "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok")
	replicas := []*process{startRelay(t, env...), startRelay(t, env...)}
	since := time.Now().Add(-time.Minute).Truncate(time.Second)
	for _, replica := range replicas {
		startAlertmanager(t, `
  - name: relay
    webhook_configs: [{url: "`+replica.public+`/hooks/alerts", http_config: {authorization: {credentials: tok}}}]
`).sendSince(t, since, false, "db-1", "db-2")
	}
	require.Eventually(t, func() bool { // a notification that takes long is sent again, and is a duplicate too
		return replicas[0].status(t, "alerts").Ledger.Duplicate >= 2
	}, 20*time.Second, 10*time.Millisecond)
	status := replicas[0].drained(t, "alerts", 10*time.Second)
	require.Equal(t, int64(2), status.Ledger.Admitted)
	require.Zero(t, status.Ledger.Imbalance())
	require.Len(t, slack.Posts(), 2)
}
