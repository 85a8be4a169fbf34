package main_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
)

// refused waits until a configuration was refused with a fault, and everybody who looks is told.
func (p *process) refused(t *testing.T, fault string) {
	t.Helper()
	require.Eventually(t, func() bool {
		failed := p.configuration(t).Reload
		return failed != nil && strings.Contains(failed.Error, fault)
	}, 10*time.Second, 10*time.Millisecond, fault)
	require.Equal(t, "0", p.metric(t, "relay_config_last_reload_successful"))
	_, answer := request(t, http.MethodGet, p.ops+"/readyz", "", nil)
	require.Contains(t, string(answer), "the configuration cannot be used as it is now")
	p.says(t, "the configuration cannot be used; the one before stays in effect")
}

// A reload never makes the service worse silently: what would take away channels, credentials or where messages go, because a
// file was emptied or cut off, is refused, and the service goes on as it was.
func TestAReloadThatTakesAwayIsRefused(t *testing.T) {
	t.Parallel()
	slack := startSlack(t)
	whole := "slack_token: xoxb-test\nslack_api_url: " + slack.APIURL() + "\nallow_unauthenticated: false\n" +
		channelFile("    ingress_token: s3cret\n  - name: other\n    slack_channel: C0OTHER\n")
	path := file(t, whole)
	relay := startRelay(t, "RELAY_CONFIG="+path)
	send := func() int {
		status, _ := request(t, http.MethodPost, relay.public+"/hooks/alerts", "s3cret", []byte(`{"title":"x"}`))
		return status
	}
	require.Equal(t, http.StatusAccepted, send())
	before := relay.configuration(t)
	require.NoError(t, os.Truncate(path, 0)) // as an editor, or a disk that is full, may leave it
	relay.refused(t, "is empty")
	for _, c := range []struct{ text, fault string }{
		{"slack_token: xoxb-test\n", "channels is missing; list the channels there, or in RELAY_CHANNELS"},
		{"# comments only\n", "is empty"},
		{"slack_token: xoxb-test\nchannels: []\n", "channels is empty"},
		{strings.Replace(whole, "    ingress_token: s3cret\n", "", 1), "channels[0] (alerts) would accept webhooks from anyone: ingress_token or auth was removed"},
		{strings.Replace(whole, "slack_token: xoxb-test\n", "", 1), "channels[0] (alerts) would no longer post to Slack"},
		{whole[:strings.Index(whole, "channels:")], "channels is missing"},
	} {
		rewrite(t, path, c.text)
		relay.refused(t, c.fault)
		require.Equal(t, before.Hash, relay.configuration(t).Hash)
		require.Equal(t, http.StatusAccepted, send(), "%s", c.text)
	}
	require.NotContains(t, relay.output.String(), "s3cret")
	rewrite(t, path, whole)
	require.Eventually(t, func() bool { return relay.configuration(t).Reload == nil }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "1", relay.metric(t, "relay_config_last_reload_successful"))
}

// What is said to be meant takes effect, with a warning that names it.
func TestAReloadThatTakesAwayOnPurpose(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	path := file(t, "admin_token: 4dm1n\n"+channelFile("    ingress_token: s3cret\n  - name: other\n    slack_channel: C0OTHER\n    pace: 1h\n    burst: 1\n  - name: idle\n    slack_channel: C0IDLE\n"))
	relay := startRelay(t, withFile(redis.URL, slack.APIURL(), path)...)
	relay.take(t, "other", []event{{Title: "sent"}, {Title: "waits"}})
	require.Eventually(t, func() bool { return relay.status(t, "other").Ledger.Pending == 1 }, 10*time.Second, 10*time.Millisecond)
	before := relay.configuration(t)
	rewrite(t, path, "allow_unauthenticated: true\n"+channelFile(""))
	relay.becomes(t, before.Hash)
	relay.says(t, `"msg":"channel removed from the configuration; its webhooks are answered 404, and its pending messages are kept until it is back","channel":"other","messages":1`)
	relay.says(t, `"channel":"idle","messages":0`)
	relay.says(t, "channels[0] (alerts) now accepts webhooks from anyone")
	relay.says(t, "admin_token was removed: calls that change something are now refused")
	require.Equal(t, 1, relay.take(t, "alerts", event{Title: "x"}).Admitted)
}

// A named file without channels ends the start; without a file there is the channel default.
func TestAFileWithoutChannelsEndsTheStart(t *testing.T) {
	t.Parallel()
	local := []string{"RELAY_LISTEN=127.0.0.1:0", "RELAY_OPS_LISTEN=127.0.0.1:0"}
	for text, fault := range map[string]string{"": " is empty; list the channels in it, or start without a configuration file", "lease: 20s\n": ": channels is missing"} {
		path := file(t, text)
		for _, env := range [][]string{append(local, "RELAY_CONFIG="+path), local} {
			args := []string{"serve"}
			if len(env) == len(local) {
				args = append(args, "--config", path)
			}
			_, stderr, code := runRelay(t, env, args...)
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, path+fault)
		}
	}
	relay := startRelay(t, local...)
	require.Equal(t, 1, relay.take(t, "default", event{Title: "no file is named"}).Admitted)
	relay = startRelay(t, "RELAY_CONFIG="+file(t, "lease: 20s\n"), "RELAY_CHANNELS=named")
	require.Equal(t, 1, relay.take(t, "named", event{Title: "the environment has the channels"}).Admitted)
}
