package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
)

// reasons returns the reasons of /readyz.
func (p *process) reasons(t *testing.T) string {
	t.Helper()
	status, answer := request(t, http.MethodGet, p.ops+"/readyz", "", nil)
	require.Equal(t, http.StatusOK, status, "webhooks are taken in")
	var ready struct{ Reasons []string }
	require.NoError(t, json.Unmarshal(answer, &ready))
	return strings.Join(ready.Reasons, "\n")
}

func TestADestinationThatCannotBePostedToIsKnownBeforeAMessageNeedsIt(t *testing.T) {
	t.Parallel()
	slack, redis := workspace(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_SLACK_TOKEN=xoxb-1", "RELAY_CHANNELS=alerts,secret",
		"RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=alerts", "RELAY_CHANNEL_SECRET_SLACK_CHANNEL=G0SECRET")
	one := startRelay(t, env...)
	const fault = "channel secret cannot post: no channel that the bot can see has the id G0SECRET; correct slack_channel; if the channel " +
		"is private, invite the bot there: /invite @relay"
	require.Eventually(t, func() bool { return one.reasons(t) == fault }, 10*time.Second, 20*time.Millisecond, "%s", one.output)
	other := startRelay(t, env...)
	require.Equal(t, fault, other.reasons(t), "the replicas share it")
	require.Equal(t, "1", other.metric(t, `relay_channel_destination_fault{channel="secret"}`))
	require.Equal(t, "0", other.metric(t, `relay_channel_destination_fault{channel="alerts"}`))
	stdout, _, code := runRelay(t, nil, "status", "--ops-url", other.ops)
	require.Zero(t, code)
	require.Regexp(t, `(?m)^alerts .* sends$`, stdout)
	require.Regexp(t, `(?m)^secret .* cannot post: no channel that the bot can see has the id G0SECRET$`, stdout)
	require.Contains(t, stdout, "degraded  "+fault+"\n")
	require.Equal(t, 1, strings.Count(one.output.String()+other.output.String(), "destination cannot be posted to"))

	slack.Break(func(method, channel string) (fakeslack.Reply, bool) { // somebody invited the bot
		posted := fakeslack.Reply{Body: `{"ok":true,"channel":"G0SECRET","ts":"1700000000.000100"}`}
		return posted, method == "chat.postMessage" && channel == "G0SECRET"
	})
	one.post(t, "secret", event{Title: "posted"})
	require.Eventually(t, func() bool { return other.reasons(t) == "" }, 10*time.Second, 20*time.Millisecond, "a delivery ends it")
}

func TestARevokedTokenIsOneSentenceForAllItsChannels(t *testing.T) {
	t.Parallel()
	slack, redis := workspace(t), redistest.Start(t)
	channels := []string{"a", "b", "c", "d", "e", "f"}
	env := fast(redis.URL, slack, "RELAY_SLACK_TOKEN=xoxb-1", "RELAY_CHANNELS="+strings.Join(channels, ","))
	for _, name := range channels {
		env = append(env, fmt.Sprintf("RELAY_CHANNEL_%s_SLACK_CHANNEL=C0ALERTS", strings.ToUpper(name)))
	}
	slack.Break(func(string, string) (fakeslack.Reply, bool) { return fakeslack.APIError("token_revoked"), true })
	relay := startRelay(t, env...)
	const sentence = "Slack refuses the token of channels a, b, c and 3 more, whose messages are kept: it was revoked; install the app " +
		"again, and use its new token"
	require.Eventually(t, func() bool { return relay.reasons(t) == sentence }, 10*time.Second, 20*time.Millisecond, "%s", relay.output)
	for _, name := range channels {
		relay.post(t, name, event{Title: "kept"})
	}
	require.Eventually(t, func() bool { return relay.status(t, "f").State.Reason == "token_revoked" }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, sentence, relay.reasons(t))
	stdout, _, _ := runRelay(t, nil, "status", "--ops-url", relay.ops)
	require.Equal(t, 1, strings.Count(stdout, "was revoked"), stdout)
	require.Equal(t, 6, strings.Count(stdout, "cannot post: token refused\n"), stdout)
	require.Equal(t, 1, strings.Count(relay.output.String(), "was revoked"), relay.output)
	require.Zero(t, strings.Count(relay.output.String(), `"level":"WARN","msg":"message not posted`), "one line, not one for each channel")
	require.NotContains(t, relay.output.String(), "xoxb-1")
	require.Equal(t, "1", relay.metric(t, `relay_channel_destination_fault{channel="f"}`))
}

func TestSendWaitsForSlacksAnswer(t *testing.T) {
	t.Parallel()
	slack, redis := workspace(t), redistest.Start(t)
	slack.Conversations = append(slack.Conversations, fakeslack.Conversation{ID: "C0OLD", Name: "old", IsMember: true, IsArchived: true})
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_SLACK_TOKEN=xoxb-1", "RELAY_CHANNELS=alerts,old",
		"RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1",
		"RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=C0ALERTS", "RELAY_CHANNEL_OLD_SLACK_CHANNEL=C0OLD")...)
	send := func(args ...string) (stdout, stderr string, code int) {
		return runRelay(t, nil, append([]string{"send", "--url", relay.public, "--ops-url", relay.ops, "--title", "x"}, args...)...)
	}
	stdout, stderr, code := send("--test", "--channel", "alerts")
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^delivered  to C0ALERTS, ts \d+\.\d{6}  https://fake\.slack\.com/archives/C0ALERTS/p\d{16}$`, stdout)

	stdout, _, code = send("--test", "--channel", "alerts", "--wait=false")
	require.Zero(t, code)
	require.Equal(t, 1, strings.Count(stdout, "\n"), "only the outcome")

	stdout, stderr, code = send("--wait", "--channel", "old", "--id", "1")
	require.Equal(t, 4, code)
	require.Contains(t, stdout, "failed     is_archived: the Slack channel is archived\n"+
		"           -> unarchive it, or set another slack_channel\n")
	require.Equal(t, "relay: the message was not posted; see the dead letters: relay dead list --channel old --ops-url "+relay.ops+"\n",
		stderr)

	_, _, code = send("--wait", "--channel", "alerts", "--category", "c")
	require.Zero(t, code)
	stdout, stderr, code = send("--wait", "--channel", "alerts", "--category", "c")
	require.Equal(t, 3, code)
	require.Contains(t, stdout, "the limit of the category is reached")
	require.Equal(t, "relay: the event was dropped; it is not posted\n", stderr)

	slack.Script("C0ALERTS", fakeslack.Reply{Body: `{"ok":false,"error":"missing_scope","needed":"chat:write","provided":"channels:read"}`})
	stdout, stderr, code = send("--wait", "--wait-for", "2s", "--channel", "alerts", "--category", "d")
	require.Equal(t, 5, code)
	require.Contains(t, stdout, "waiting    missing_scope: the token lacks the scope chat:write; it has channels:read\n")
	require.Contains(t, stderr, "the message still waits after 2s; see: relay status --channel alerts")

	_, stderr, code = send("--channel", "old", "--ops-url", "http://127.0.0.1:1", "--wait")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "connection refused")
	_, stderr, code = send("--channel", "old", "--ops-url", "http://127.0.0.1:1", "--test")
	require.Zero(t, code)
	require.Contains(t, stderr, "Slack's answer is not known")
}

func TestCheckOnlineSaysWhatTheDoctorSays(t *testing.T) {
	t.Parallel()
	slack, redis := workspace(t), redistest.Start(t)
	slack.Script("apps.connections.open ", fakeslack.APIError("missing_scope"), fakeslack.APIError("missing_scope"))
	env := []string{
		"RELAY_REDIS_URL=" + redis.URL, "RELAY_SLACK_TOKEN=xoxb-1", "RELAY_SLACK_API_URL=" + slack.APIURL(),
		"RELAY_SLACK_APP_TOKEN=xapp-1-A-1-a", "RELAY_CHANNELS=alerts", "RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=C0ALERTS",
		"RELAY_EXTERNAL_URL=http://127.0.0.1:9090",
	}
	online, stderr, code := runRelay(t, env, "check", "--online")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the configuration is valid\nrelay: something keeps messages from being posted")
	doctor, _, code := runRelay(t, env, "slack", "doctor")
	require.Equal(t, 1, code)
	withoutTime := func(text string) string { return text[strings.Index(text, "ok       slack_token"):] }
	require.Equal(t, withoutTime(doctor), withoutTime(online))
	require.Contains(t, online, "fault    slack_app_token: lacks the scope connections:write\n         -> make an app-level token")
	require.Contains(t, online, "warning  external_url: names this machine, so that links in messages lead each reader to their own\n")
	require.Contains(t, online, "ok       clock: agrees with those of Redis and Slack\n")
	require.Contains(t, online, "ok       channel alerts: the bot can post to #alerts (C0ALERTS)\n")
	_, stderr, code = runRelay(t, env, "check", "--online", "--explain", "-")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--online and --explain cannot be combined")
}
