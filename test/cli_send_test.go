package test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
)

func TestSendPrintsTheOutcome(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	relay := startRelay(t, "RELAY_REDIS_URL="+redis.URL, "RELAY_CHANNEL_DEFAULT_CATEGORY_LIMIT=1",
		"RELAY_CHANNEL_DEFAULT_INGRESS_TOKEN=s3cret")
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
	require.Equal(t, 0, code, "a drop is not a failure of the command")
	require.Regexp(t, `^dropped  category disk  id 2: the limit of the category is reached; the next slot is free in (29m5\ds|30m0s)\n$`,
		stdout)

	stdout, _, code = send("--text", "Disk full", "--category", "disk", "--id", "3", "--json")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "\"dropped\": 1,")
	require.NotContains(t, stdout, "deliveries")
	stdout, stderr, code = send("--title", "x", "--category", "c", "--id", "4", "--json", "--wait", "--ops-url", relay.ops)
	require.Equal(t, 0, code, stderr)
	var sent struct {
		Admitted   int
		Deliveries map[string]struct{ State string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &sent))
	require.Equal(t, 1, sent.Admitted)
	require.Equal(t, "delivered", sent.Deliveries["4"].State)

	require.Eventually(t, func() bool {
		return strings.Contains(relay.output.String(), "#default  🔴 Disk full\n    critical · host=db-1")
	}, 5*time.Second, 10*time.Millisecond, "without Slack, messages are shown on the console")

	stdout, _, code = send("--title", "Disk full", "--category", "other", "--status", "resolved", "--fingerprint", "never-fired")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "dropped  category other", "there is no firing with this fingerprint")

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
