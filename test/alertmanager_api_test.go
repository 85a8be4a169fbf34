package test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
)

// amtool runs amtool against a relay as its Alertmanager, and returns what it prints, or its error.
func amtool(tb testing.TB, relay *process, token string, args ...string) (string, error) {
	tb.Helper()
	path, err := exec.LookPath("amtool")
	require.NoError(tb, err, "install the Debian package prometheus-alertmanager; make test does")
	url := strings.Replace(relay.public, "http://", "http://relay:"+token+"@", 1) + "/alertmanager/alerts"
	cmd := exec.CommandContext(tb.Context(), path, append([]string{"--alertmanager.url=" + url}, args...)...)
	cmd.Env = []string{"HOME=" + tb.TempDir()}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return stderr.String(), err
	}
	return string(out), nil
}

// mustAmtool runs amtool, which must succeed.
func mustAmtool(tb testing.TB, relay *process, token string, args ...string) string {
	tb.Helper()
	out, err := amtool(tb, relay, token, args...)
	require.NoError(tb, err, "amtool %s: %s", args, out)
	return out
}

// It covers alerts that are added, listed and ended, and silences that are made, queried, changed and ended.
func TestAmtoolUsesTheRelayAsItsAlertmanager(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_BUNDLE=off", "RELAY_CHANNEL_ALERTS_SILENCE_NOTICES=false",
		"RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok", "RELAY_ADMIN_TOKEN=admin")...)
	mustAmtool(t, relay, "tok", "alert", "add", "DiskFull", "instance=db-1", "severity=critical", "--annotation=summary=Disk full on db-1")
	mustAmtool(t, relay, "tok", "alert", "add", "DiskFull", "instance=db-1", "severity=critical", "--annotation=summary=Disk full on db-1")
	mustAmtool(t, relay, "tok", "alert", "add", "DiskFull", "instance=db-2", "severity=critical", "--annotation=summary=Disk full on db-2")
	require.Eventually(t, func() bool { return len(slack.Posts()) == 2 }, 10*time.Second, 10*time.Millisecond)
	listed := mustAmtool(t, relay, "tok", "-o", "simple", "alert", "query")
	require.Regexp(t, `(?m)^DiskFull +\S+ \S+ UTC +Disk full on db-1 +active *$`, listed)
	require.Equal(t, 2, strings.Count(listed, "DiskFull"), listed)
	require.NotContains(t, mustAmtool(t, relay, "tok", "alert", "query", "instance=db-2"), "db-1")

	out, err := amtool(t, relay, "tok", "silence", "add", "instance=~db-.*", "alertname=DiskFull", "--author=ann", "--comment=night")
	require.Error(t, err, "a sender must not silence")
	require.Contains(t, out, "403")
	id := strings.TrimSpace(mustAmtool(t, relay, "admin", "silence", "add", "instance=~db-.*", "alertname=DiskFull", "--author=ann",
		"--comment=night", "--duration=1h"))
	require.Regexp(t, `(?m)^`+id+` +instance=~"db-\.\*" alertname="DiskFull" .* ann +night`, mustAmtool(t, relay, "tok", "silence", "query"))
	require.Contains(t, mustAmtool(t, relay, "tok", "-o", "extended", "alert", "query", "--silenced"), "suppressed")
	require.NotContains(t, mustAmtool(t, relay, "tok", "alert", "query"), "DiskFull", "amtool shows active alerts only")
	mustAmtool(t, relay, "tok", "alert", "add", "DiskFull", "instance=db-3")
	mustAmtool(t, relay, "admin", "silence", "update", "--duration=2h", id)
	require.Equal(t, id, strings.TrimSpace(mustAmtool(t, relay, "admin", "silence", "query", "-q")))
	mustAmtool(t, relay, "admin", "silence", "expire", id)
	require.NotContains(t, mustAmtool(t, relay, "tok", "silence", "query"), id)
	require.Contains(t, mustAmtool(t, relay, "tok", "silence", "query", "--expired"), id)
	require.Len(t, slack.Posts(), 2, "db-3 was silenced")
	require.Contains(t, mustAmtool(t, relay, "tok", "config", "show"), "receiver: alerts")
	require.Contains(t, mustAmtool(t, relay, "tok", "cluster", "show"), "disabled")

	mustAmtool(t, relay, "tok", "alert", "add", "DiskFull", "instance=db-3") // nothing mutes it any more
	require.Eventually(t, func() bool { return len(slack.Posts()) == 3 }, 10*time.Second, 10*time.Millisecond)
	past := time.Now().UTC().Format(time.RFC3339)
	mustAmtool(t, relay, "tok", "alert", "add", "DiskFull", "instance=db-1", "severity=critical", "--start="+past, "--end="+past)
	require.Eventually(t, func() bool { return strings.Contains(lastShown(slack, "db-1"), "Resolved: ") }, 10*time.Second, 10*time.Millisecond,
		"%+v", slack.Posts())
	ledger := relay.status(t, "alerts").Ledger
	require.Zero(t, ledger.Imbalance())
	require.Equal(t, int64(5), ledger.Received, "three firings, one of which was muted at first, and a resolve")
}

// lastShown returns the text of the message about a host as it is now.
func lastShown(slack *fakeslack.Server, host string) string {
	for _, post := range slack.Posts() {
		if strings.Contains(post.Text, host) {
			text, _ := shownLast(post)
			return text
		}
	}
	return ""
}

// realPrometheus is a running Prometheus with a rule for the alert DiskFull, which fires while value is 1.
type realPrometheus struct {
	value atomic.Int64
	log   *output
	cmd   *exec.Cmd
}

// startPrometheus starts one that posts alerts to these relays, and again after 500 ms: each post is valid for 2 s.
func startPrometheus(tb testing.TB, token string, relays ...*process) *realPrometheus {
	tb.Helper()
	path, err := exec.LookPath("prometheus")
	require.NoError(tb, err, "install the Debian package prometheus; make test does")
	p := &realPrometheus{log: &output{}}
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "disk_full{disk=\"sda\"} %d\n", p.value.Load())
	}))
	tb.Cleanup(target.Close)
	var hosts []string
	for _, relay := range relays {
		hosts = append(hosts, `"`+strings.TrimPrefix(relay.public, "http://")+`"`)
	}
	dir := tb.TempDir()
	write := func(name, text string) {
		require.NoError(tb, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("token", token)
	write("rules.yml", `
groups:
  - name: disks
    rules:
      - {alert: DiskFull, expr: disk_full == 1, labels: {severity: critical}, annotations: {summary: "Disk full on {{$labels.disk}}"}}
`)
	write("prometheus.yml", `
global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [rules.yml]
scrape_configs:
  - {job_name: disks, static_configs: [{targets: ["`+strings.TrimPrefix(target.URL, "http://")+`"]}]}
alerting:
  alertmanagers:
    - path_prefix: /alertmanager/alerts
      authorization: {credentials_file: token}
      static_configs: [{targets: [`+strings.Join(hosts, ", ")+`]}]
`)
	p.cmd = exec.Command(path, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0", "--rules.alert.resend-delay=500ms", "--log.level=debug")
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	require.NoError(tb, p.cmd.Start())
	tb.Cleanup(p.kill)
	return p
}

// kill ends it at once. It may be called more than once.
func (p *realPrometheus) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// A rule of a real Prometheus fires and resolves, and both reach Slack once, whatever Prometheus repeats and to how many replicas. An
// alert of a Prometheus that dies ends by itself, once. It runs alone, because what Prometheus posts is valid for seconds only.
func TestPrometheusUsesTheRelayAsItsAlertmanager(t *testing.T) {
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_RESOLVES=post", "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok")
	first, second := startRelay(t, env...), startRelay(t, env...)
	prometheus := startPrometheus(t, "tok", first, second)
	posts := func(want int) {
		t.Helper()
		require.Eventually(t, func() bool { return len(slack.Posts()) >= want }, 30*time.Second, 10*time.Millisecond, prometheus.log)
	}
	accepted := func() int {
		return strings.Count(first.output.String()+second.output.String(), `"msg":"alerts accepted"`)
	}
	prometheus.value.Store(1)
	posts(1)
	before := accepted()
	require.Eventually(t, func() bool { return accepted() >= before+8 }, 30*time.Second, 10*time.Millisecond, "it posts again")
	require.Len(t, slack.Posts(), 1)
	require.Contains(t, mustAmtool(t, second, "tok", "alert", "query"), "Disk full on sda")
	prometheus.value.Store(0)
	posts(2)
	before = accepted()
	require.Eventually(t, func() bool { return accepted() >= before+4 }, 30*time.Second, 10*time.Millisecond, "it repeats the resolve")
	require.Len(t, slack.Posts(), 2)
	require.Contains(t, slack.Posts()[1].Text, "Resolved: Disk full on sda")
	require.NotContains(t, mustAmtool(t, second, "tok", "alert", "query"), "DiskFull")

	prometheus.value.Store(1)
	posts(3)
	prometheus.kill()
	posts(4)
	require.Contains(t, slack.Posts()[3].Text, "Resolved: Disk full on sda")
	require.Never(t, func() bool { return len(slack.Posts()) > 4 }, time.Second, 50*time.Millisecond)
	require.NotContains(t, prometheus.log.String(), "Error sending alert")
	for _, relay := range []*process{first, second} {
		ledger := relay.status(t, "alerts").Ledger
		require.Zero(t, ledger.Imbalance())
		require.Equal(t, int64(4), ledger.Admitted)
	}
}

// While Redis is away, posts are lost for the state of an alert; a sender that lives has time to post again. It runs alone, as above.
func TestAlertIsNotResolvedBecauseRedisWasAway(t *testing.T) {
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_RESOLVES=post", "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok")...)
	prometheus := startPrometheus(t, "tok", relay)
	prometheus.value.Store(1)
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 }, 30*time.Second, 10*time.Millisecond, prometheus.log)
	redis.Stop()
	time.Sleep(3 * time.Second) // longer than a post is valid
	redis.Continue()
	require.Never(t, func() bool { return len(slack.Posts()) > 1 }, 5*time.Second, 50*time.Millisecond, relay.output)
	prometheus.kill()
	require.Eventually(t, func() bool { return len(slack.Posts()) == 2 }, 30*time.Second, 10*time.Millisecond, relay.output)
	require.Contains(t, slack.Posts()[1].Text, "Resolved: Disk full on sda")
}

// apiCommand is a command of docs/alertmanager-api.md, with the status of its reply and how its body begins.
var apiCommand = regexp.MustCompile(`(?m)^(curl .*)\n# (\d+) ?(.*)$`)

func TestCommandsOfAlertmanagerAPIWork(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=the-token-of-alerts")
	commands := apiCommand.FindAllStringSubmatch(doc(t, "alertmanager-api"), -1)
	require.Len(t, commands, 2)
	here := strings.NewReplacer("http://relay:8080", relay.public, "TOKEN", "the-token-of-alerts")
	for _, c := range commands {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", here.Replace(c[1])+` -sS -w '\n%{http_code}'`).CombinedOutput()
		require.NoError(t, err, "%s", out)
		body, status := string(out[:len(out)-4]), string(out[len(out)-3:])
		require.Equal(t, c[2], status, "%s", out)
		require.True(t, strings.HasPrefix(body, c[3]), "%s", out)
	}
}
