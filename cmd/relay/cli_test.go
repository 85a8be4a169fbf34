package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	start := time.Now()
	stdout, stderr, code := runRelay(t, nil, "demo")
	require.Equal(t, 0, code, stderr)
	require.Less(t, time.Since(start), 20*time.Second)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Equal(t, []string{"category", "received", "sent", "dropped"}, strings.Fields(lines[0]))
	require.Equal(t, []string{"total", "200", "100", "100"}, strings.Fields(lines[21]))
	require.Len(t, lines, 25, "20 categories, the totals, and two lines that explain them")
	require.Contains(t, stderr, "100%")
}

// The demo is the same whatever the environment says.
func TestDemoReadsNoEnvironment(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := runRelay(t, []string{"RELAY_REDIS_URL=redis://127.0.0.1:1", "RELAY_CHANNELS=x", "RELAY_LISTEN=nonsense"}, "demo")
	require.Equal(t, 0, code, stderr)
	require.Regexp(t, `total +200 +100 +100`, stdout)
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"serv"}, `there is no command "serv"`},
		{[]string{"serve", "now"}, `serve takes no arguments, got "now"`},
		{[]string{"serve", "--no-such-flag"}, "unknown flag: --no-such-flag; see relay serve --help"},
		{[]string{"send"}, "--title or --text is needed"},
		{[]string{"check", "--config", "/does/not/exist.yaml"}, "/does/not/exist.yaml cannot be read"},
		{[]string{"send", "--title", "x", "--label", "novalue"}, "novalue must be formatted as key=value"},
	} {
		_, stderr, code := runRelay(t, nil, c.args...)
		require.Equal(t, 2, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.says)
	}
	_, stderr, code := runRelay(t, []string{"RELAY_LISTEN=x"}, "serve")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `listen is "x"; write host:port`)
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	stdout, _, code := runRelay(t, nil)
	require.Equal(t, 0, code)
	for _, command := range []string{"serve", "demo", "check", "send", "version"} {
		require.Contains(t, stdout, "  "+command)
	}
	stdout, _, code = runRelay(t, nil, "version")
	require.Equal(t, 0, code)
	require.Regexp(t, `^relay \S+\n$`, stdout)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "relay.yaml")
	require.NoError(t, os.WriteFile(file, []byte("channels: [{name: a, slack_webhook_url: 'https://h.example/services/very-secret', window: 5m}]\n"), 0o600))
	stdout, stderr, code := runRelay(t, []string{"RELAY_CONFIG=" + file, "RELAY_CHANNEL_A_PACE=3s"}, "check")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stderr, "the configuration is valid")
	require.Contains(t, stderr, "warning: redis_url is not set")
	require.Contains(t, stdout, "window: 5m\n")
	require.Contains(t, stdout, "pace: 3s")
	require.Contains(t, stdout, "slack_webhook_url: '********'")
	require.NotContains(t, stdout+stderr, "very-secret")

	_, stderr, code = runRelay(t, []string{"RELAY_CHANNEL_DEFAULT_WINDOW=x", "RELAY_LISTEN=y"}, "check")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "RELAY_CHANNEL_DEFAULT_WINDOW must be a duration")
	require.Contains(t, stderr, `listen is "y"`, "every fault at once")

	_, stderr, code = runRelay(t, []string{"RELAY_LISTN=x", "RELAY_SERVICE_HOST=10.0.0.1"}, "check")
	require.Equal(t, 2, code, "an unknown variable is an error here")
	require.Contains(t, stderr, "RELAY_LISTN is not a setting; did you mean RELAY_LISTEN?")
	require.NotContains(t, stderr, "SERVICE_HOST")
}

func TestAnUnknownVariableIsAWarningAtStart(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_LISTN=x")
	require.Contains(t, relay.output.String(), "RELAY_LISTN is not a setting; did you mean RELAY_LISTEN?")
}

func TestSend(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	relay := startRelay(t, "RELAY_REDIS_URL="+redis.URL, "RELAY_CHANNEL_DEFAULT_CATEGORY_LIMIT=1", "RELAY_CHANNEL_DEFAULT_INGRESS_TOKEN=s3cret")
	env := []string{"RELAY_CHANNEL_DEFAULT_INGRESS_TOKEN=s3cret"}
	send := func(args ...string) (string, string, int) {
		return runRelay(t, env, append([]string{"send", "--url", relay.public}, args...)...)
	}
	stdout, stderr, code := send("--title", "Disk full", "--category", "disk", "--severity", "critical", "--label", "host=db-1", "--id", "1")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "admitted  category disk  id 1\n", stdout)
	stdout, _, code = send("--title", "Disk full", "--category", "disk", "--id", "1")
	require.Equal(t, 0, code)
	require.Equal(t, "duplicate  category disk  id 1\n", stdout)
	stdout, _, code = send("--text", "Disk full", "--category", "disk", "--id", "2")
	require.Equal(t, 0, code, "a drop is no failure of the command")
	require.Regexp(t, `^dropped  category disk  id 2: the limit of the category is reached; there is room again in (29m5\ds|30m0s)\n$`, stdout)

	require.Eventually(t, func() bool {
		return strings.Contains(relay.output.String(), "#default  🔴 Disk full\n    critical · disk · generic · host=db-1")
	}, 5*time.Second, 10*time.Millisecond, "without Slack, messages are shown on the console")

	_, stderr, code = send("--title", "x", "--token", "wrong")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "unauthorized: channel \"default\" needs a credential")
	_, stderr, code = send("--title", "x", "--channel", "nowhere")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, `unknown_channel: no channel is called "nowhere"`)
	_, stderr, code = runRelay(t, nil, "send", "--title", "x", "--url", "http://127.0.0.1:1")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "start one with: relay serve")
}

// Without Redis: it works, says that nothing is durable, and says what is lost when it stops.
func TestServeWithoutRedis(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNEL_DEFAULT_PACE=1h", "RELAY_CHANNEL_DEFAULT_BURST=1")
	require.Contains(t, relay.output.String(), "redis_url is not set")
	receipt := relay.take(t, "default", []event{{Title: "a"}, {Title: "b"}})
	require.False(t, receipt.Durable)
	require.Eventually(t, func() bool { return relay.status(t, "default").Ledger.Delivered == 1 }, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, 0, relay.stop())
	require.Contains(t, relay.output.String(), "messages that were admitted but not sent are lost")
}

func TestATakenPort(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	_, stderr, code := runRelay(t, []string{"RELAY_LISTEN=" + strings.TrimPrefix(relay.public, "http://"), "RELAY_OPS_LISTEN=127.0.0.1:0"}, "serve")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "set RELAY_LISTEN to another address")
}

func TestTheLogIsJSON(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	status, _ := request(t, http.MethodPost, relay.public+"/hooks/default", "", []byte(`{"title":"x"}`))
	require.Equal(t, http.StatusAccepted, status)
	relay.stop()
	for line := range strings.Lines(relay.output.String()) {
		if strings.HasPrefix(line, "#default") || strings.HasPrefix(line, "    ") {
			continue // the console's preview
		}
		require.True(t, json.Valid([]byte(line)), line)
	}
}
