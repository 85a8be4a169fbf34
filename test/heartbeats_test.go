package test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/pipeline"
)

// heartbeatFile is a configuration with heartbeats of the channel alerts.
func heartbeatFile(heartbeats string) string {
	return "heartbeats:\n" + heartbeats + channelFile("    resolves: post\n")
}

// heartbeat reads a heartbeat from the API.
func (p *process) heartbeat(tb testing.TB, name string) pipeline.HeartbeatStatus {
	tb.Helper()
	status, answer := request(tb, http.MethodGet, p.ops+"/api/v1/heartbeats", "", nil)
	require.Equal(tb, http.StatusOK, status, "%s", answer)
	var reply struct {
		Heartbeats []pipeline.HeartbeatStatus `json:"heartbeats"`
	}
	require.NoError(tb, json.Unmarshal(answer, &reply))
	for _, h := range reply.Heartbeats {
		if h.Name == name {
			return h
		}
	}
	require.Fail(tb, "no heartbeat "+name)
	return pipeline.HeartbeatStatus{}
}

// beat sends a heartbeat.
func (p *process) beat(tb testing.TB, name string) {
	tb.Helper()
	status, answer := request(tb, http.MethodPost, p.public+"/heartbeats/"+name, "", nil)
	require.Equal(tb, http.StatusAccepted, status, "%s", answer)
}

// beatFor sends a heartbeat twice a second.
func (p *process) beatFor(tb testing.TB, name string, d time.Duration) {
	tb.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		p.beat(tb, name)
	}
}

// awaitPosts waits until so many messages are in a Slack channel, and returns their texts.
func awaitPosts(tb testing.TB, slack *fakeslack.Server, channel string, n int) []string {
	tb.Helper()
	posts := func() (texts []string) {
		for _, post := range slack.Posts() {
			if post.Channel == channel {
				texts = append(texts, post.Text)
			}
		}
		return texts
	}
	require.Eventually(tb, func() bool { return len(posts()) >= n }, 30*time.Second, 20*time.Millisecond, "%d messages", n)
	return posts()
}

// One of two replicas is killed before the heartbeat is missing.
func TestMissingHeartbeatIsSaidOnceAndBackOnce(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	path := configFile(t, heartbeatFile("  - {name: backup, channel: alerts, every: 4s, grace: 2s}\n"))
	env := append(withFile(redis.URL, slack.APIURL(), path), "RELAY_OPERATIONS_SLACK_CHANNEL=C0OPS", "RELAY_ADMIN_TOKEN=4dm1n")
	a := startRelay(t, env...)
	b := startRelay(t, env...)
	a.beatFor(t, "backup", 7*time.Second)
	require.Eventually(t, func() bool { return b.heartbeat(t, "backup").State == pipeline.HeartbeatOK }, 10*time.Second, 50*time.Millisecond)
	require.Empty(t, slack.Posts())
	a.kill()
	require.Regexp(t, `Heartbeat backup is missing: last seen \d\d:\d\d UTC, expected every 4 seconds`,
		awaitPosts(t, slack, "C0ALERTS", 1)[0])
	require.Contains(t, awaitPosts(t, slack, "C0OPS", 1)[0], "Heartbeat backup is missing")
	require.Equal(t, pipeline.HeartbeatMissing, b.heartbeat(t, "backup").State)
	require.Equal(t, "1", b.metric(t, `relay_heartbeat_missing{name="backup"}`))
	out, _, code := runRelay(t, append(env, "RELAY_OPS_LISTEN="+strings.TrimPrefix(b.ops, "http://")), "heartbeats")
	require.Zero(t, code)
	require.Regexp(t, `(?m)^backup +alerts +missing +4s +\S+ \S+ +missing for \d+s$`, out)

	c := startRelay(t, env...)
	time.Sleep(10 * time.Second)
	c.beat(t, "backup")
	require.Contains(t, awaitPosts(t, slack, "C0ALERTS", 2)[1], "Heartbeat backup is back: it was missing for")
	awaitPosts(t, slack, "C0OPS", 2)
	c.beatFor(t, "backup", 3*time.Second)
	require.Len(t, slack.Posts(), 4, "each is said once, in the channel and to the operators")
	status := b.drained(t, "alerts", 10*time.Second)
	require.Equal(t, int64(2), status.Ledger.Received)
	require.Equal(t, int64(2), status.Ledger.Delivered)
	require.Equal(t, "0", b.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
}

func TestOutageOfRedisIsNoSilenceOfSenders(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	path := configFile(t, heartbeatFile(
		"  - {name: busy, channel: alerts, every: 3s, grace: 1s}\n  - {name: quiet, channel: alerts, every: 18s, grace: 1s}\n"))
	env := withFile(redis.URL, slack.APIURL(), path)
	a, b := startRelay(t, env...), startRelay(t, env...)
	b.beat(t, "quiet")
	a.beatFor(t, "busy", 7*time.Second)
	redis.Kill()
	a.beat(t, "quiet")
	a.beatFor(t, "busy", 8*time.Second) // longer than its period
	redis.Up()
	b.beatFor(t, "busy", 8*time.Second)
	require.Equal(t, pipeline.HeartbeatOK, a.heartbeat(t, "busy").State)
	require.Equal(t, pipeline.HeartbeatOK, b.heartbeat(t, "quiet").State)
	require.Empty(t, slack.Posts(), "no false alarm")
	a.kill() // with its memory
	b.beatFor(t, "busy", 6*time.Second)
	texts := awaitPosts(t, slack, "C0ALERTS", 2) // both senders have stopped
	require.Contains(t, strings.Join(texts, "\n"), "Heartbeat busy is missing")
	require.Contains(t, strings.Join(texts, "\n"), "Heartbeat quiet is missing")
}

// The only replica is killed while a heartbeat is expected, and starts again after it was due.
func TestRestartOfTheOnlyReplicaIsNoSilenceOfSenders(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	path := configFile(t, heartbeatFile("  - {name: backup, channel: alerts, every: 4s, grace: 1s}\n"))
	env := withFile(redis.URL, slack.APIURL(), path)
	a := startRelay(t, env...)
	a.beatFor(t, "backup", 3*time.Second)
	a.kill()
	time.Sleep(6 * time.Second)
	a = startRelay(t, env...)
	time.Sleep(3 * time.Second)
	a.beatFor(t, "backup", 7*time.Second)
	require.Equal(t, pipeline.HeartbeatOK, a.heartbeat(t, "backup").State)
	require.Empty(t, slack.Posts())
}

func TestWatchdogOfAlertmanagerIsAHeartbeat(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	path := configFile(t, heartbeatFile(
		"  - {name: watchdog, channel: alerts, every: 3s, grace: 1s, match: [{field: label.alertname, is: DiskFull}]}\n"))
	relay := startRelay(t, withFile(redis.URL, slack.APIURL(), path)...)
	am := startAlertmanager(t, "  - name: relay\n    webhook_configs: [{url: "+relay.public+"/hooks/alerts, send_resolved: true}]\n")
	am.send(t, false, "a")
	isOK := func() bool { return relay.heartbeat(t, "watchdog").State == pipeline.HeartbeatOK }
	require.Eventually(t, isOK, 10*time.Second, 50*time.Millisecond)
	am.send(t, true, "a")
	require.Contains(t, awaitPosts(t, slack, "C0ALERTS", 1)[0], "Heartbeat watchdog is missing")
	ledger := relay.drained(t, "alerts", 10*time.Second).Ledger
	require.GreaterOrEqual(t, ledger.Muted, int64(2), "the firing, and its resolve")
	require.Equal(t, ledger.Muted+1, ledger.Received)
	require.Len(t, slack.Posts(), 1)
}

func TestReloadChangesHeartbeats(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	path := configFile(t, channelFile(""))
	relay := startRelay(t, withFile(redis.URL, slack.APIURL(), path)...)
	status, answer := request(t, http.MethodPost, relay.public+"/heartbeats/backup", "", nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, string(answer), `"code":"unknown_heartbeat"`)
	before := relay.configuration(t).Hash
	rewrite(t, path, heartbeatFile("  - {name: backup, channel: alerts, every: 1h}\n"))
	before = relay.waitForChange(t, before).Hash
	relay.beat(t, "backup")
	rewrite(t, path, heartbeatFile("  - {name: backup, channel: alerts, every: 2s, grace: 1s}\n"))
	before = relay.waitForChange(t, before).Hash
	require.Contains(t, awaitPosts(t, slack, "C0ALERTS", 1)[0], "expected every 2 seconds")
	rewrite(t, path, channelFile(""))
	relay.waitForChange(t, before)
	status, _ = request(t, http.MethodPost, relay.public+"/heartbeats/backup", "", nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Empty(t, relay.metric(t, `relay_heartbeat_missing{name="backup"}`))
}

// Every sender gets the reply in docs/heartbeats.md.
func TestCommandsOfHeartbeatsWork(t *testing.T) {
	t.Parallel()
	path := configFile(t, strings.Replace(heartbeatFile("  - {name: backup, channel: alerts, every: 24h}\n"), "    pace",
		"    ingress_token: the-token\n    pace", 1))
	relay := startRelay(t, "RELAY_CONFIG="+path)
	commands := regexp.MustCompile(`(?m)^(curl .*)\n# (\d+) ?(.*)$`).FindAllStringSubmatch(doc(t, "heartbeats"), -1)
	require.Len(t, commands, 6)
	here := strings.NewReplacer("http://relay:8080", relay.public, "TOKEN", "the-token")
	for _, c := range commands {
		line := here.Replace(c[1]) + ` -w '\n%{http_code}'`
		out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, out)
		body, status := string(out[:len(out)-4]), string(out[len(out)-3:])
		require.Equal(t, c[2], status, "%s\n%s", line, out)
		require.True(t, strings.HasPrefix(body, c[3]), "%s\n%s", line, out)
	}
	require.Equal(t, pipeline.HeartbeatOK, relay.heartbeat(t, "backup").State)
	status, answer := request(t, http.MethodGet, relay.public+"/heartbeats/backup", "wrong", nil)
	require.Equal(t, http.StatusUnauthorized, status, "%s", answer)
	status, _ = request(t, http.MethodDelete, relay.public+"/heartbeats/backup", "the-token", nil)
	require.Equal(t, http.StatusMethodNotAllowed, status)
	status, answer = request(t, http.MethodGet, relay.public+"/v2/heartbeats/nobody/ping", "the-token", nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, string(answer), `"requestId"`)
}
