package test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
)

// rejects waits until a configuration is rejected with a fault, and checks that log, API and metric show it.
func (p *process) rejects(t *testing.T, fault string) {
	t.Helper()
	require.Eventually(t, func() bool {
		failed := p.configuration(t).Reload
		return failed != nil && strings.Contains(failed.Error, fault)
	}, 10*time.Second, 10*time.Millisecond, fault)
	require.Equal(t, "0", p.metric(t, "relay_config_last_reload_successful"))
	_, answer := request(t, http.MethodGet, p.ops+"/readyz", "", nil)
	require.Contains(t, string(answer), "the new configuration is not valid")
	p.logs(t, "configuration rejected: the previous one stays in effect")
}

// What would remove channels, credentials or destinations because a file was emptied or truncated is rejected, and the
// configuration in effect stays.
func TestReloadThatRemovesSettingsIsRejected(t *testing.T) {
	t.Parallel()
	slack := startSlack(t)
	whole := "slack_token: xoxb-test\nslack_api_url: " + slack.APIURL() + "\nallow_unauthenticated: false\n" +
		channelFile("    ingress_token: s3cret\n  - name: other\n    slack_channel: C0OTHER\n")
	path := configFile(t, whole)
	relay := startRelay(t, "RELAY_CONFIG="+path)
	send := func() int {
		status, _ := request(t, http.MethodPost, relay.public+"/hooks/alerts", "s3cret", []byte(`{"title":"x"}`))
		return status
	}
	require.Equal(t, http.StatusAccepted, send())
	before := relay.configuration(t)
	require.NoError(t, os.Truncate(path, 0)) // as an editor, or a disk that is full, may leave it
	relay.rejects(t, "is empty")
	for name, c := range map[string]struct{ text, fault string }{
		"no channels":    {"slack_token: xoxb-test\n", "channels: is missing; list the channels there, or in RELAY_CHANNELS"},
		"comments only":  {"# comments only\n", "is empty"},
		"empty channels": {"slack_token: xoxb-test\nchannels: []\n", "channels: is empty"},
		"no credential": {
			strings.Replace(whole, "    ingress_token: s3cret\n", "", 1),
			"channels[0]: channel alerts would accept webhooks from anyone, because ingress_token or auth was removed",
		},
		"no destination": {
			strings.Replace(whole, "slack_token: xoxb-test\n", "", 1),
			"channels[0]: channel alerts would no longer post to Slack",
		},
		"truncated": {whole[:strings.Index(whole, "channels:")], "channels: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			rewrite(t, path, c.text)
			relay.rejects(t, c.fault)
			require.Equal(t, before.Hash, relay.configuration(t).Hash)
			require.Equal(t, http.StatusAccepted, send())
		})
	}
	require.NotContains(t, relay.output.String(), "s3cret")
	rewrite(t, path, whole)
	require.Eventually(t, func() bool { return relay.configuration(t).Reload == nil }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "1", relay.metric(t, "relay_config_last_reload_successful"))
}

// A warning names the channel.
func TestReloadThatRemovesAChannelOnPurposeIsApplied(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	path := configFile(t, "admin_token: 4dm1n\n"+channelFile("    ingress_token: s3cret\n"+
		"  - name: other\n    slack_channel: C0OTHER\n    pace: 1h\n    burst: 1\n"+
		"  - name: idle\n    slack_channel: C0IDLE\n"))
	relay := startRelay(t, withFile(redis.URL, slack.APIURL(), path)...)
	relay.post(t, "other", []event{{Title: "sent"}, {Title: "waits"}})
	require.Eventually(t, func() bool { return relay.status(t, "other").Ledger.Pending == 1 }, 10*time.Second, 10*time.Millisecond)
	before := relay.configuration(t)
	rewrite(t, path, "allow_unauthenticated: true\n"+channelFile(""))
	relay.waitForChange(t, before.Hash)
	relay.logs(t, `"msg":"channel removed: its webhooks are answered 404, its pending messages are kept until it returns",`+
		`"channel":"other","messages":1`)
	relay.logs(t, `"channel":"idle","messages":0`)
	relay.logs(t, "channel alerts now accepts webhooks from anyone")
	relay.logs(t, "admin_token was removed: calls that change something are now refused")
	require.Equal(t, 1, relay.post(t, "alerts", event{Title: "x"}).Admitted)
}

// Without a file there is the channel default.
func TestFileWithoutChannelsEndsTheStart(t *testing.T) {
	t.Parallel()
	local := []string{"RELAY_LISTEN=127.0.0.1:0", "RELAY_OPS_LISTEN=127.0.0.1:0"}
	for name, c := range map[string]struct{ text, fault string }{
		"empty":       {"", ": is empty; list the channels in it, or start without a configuration file"},
		"no channels": {"lease: 20s\n", ": channels: is missing"},
	} {
		path := configFile(t, c.text)
		t.Run(name+", by variable", func(t *testing.T) {
			_, stderr, code := runRelay(t, []string{"RELAY_LISTEN=127.0.0.1:0", "RELAY_OPS_LISTEN=127.0.0.1:0", "RELAY_CONFIG=" + path}, "serve")
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, path+c.fault)
		})
		t.Run(name+", by flag", func(t *testing.T) {
			_, stderr, code := runRelay(t, local, "serve", "--config", path)
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, path+c.fault)
		})
	}
	relay := startRelay(t, local...)
	require.Equal(t, 1, relay.post(t, "default", event{Title: "no file is named"}).Admitted)
	relay = startRelay(t, "RELAY_CONFIG="+configFile(t, "lease: 20s\n"), "RELAY_CHANNELS=named")
	require.Equal(t, 1, relay.post(t, "named", event{Title: "the environment has the channels"}).Admitted)
}
