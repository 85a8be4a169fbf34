package test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
)

// tokens returns the tokens of the posts to a channel.
func tokens(slack *fakeslack.Server, channel string) []string {
	var all []string
	for _, post := range slack.Posts() {
		if post.Channel == channel {
			all = append(all, post.Form.Get("token"))
		}
	}
	return all
}

// A rotated token takes effect without a restart, a refused one stops nothing but its channels.
func TestChannelsOfSeveralWorkspaces(t *testing.T) {
	t.Parallel()
	one, two := startSlack(t), startSlack(t)
	token := filepath.Join(t.TempDir(), "token")
	rewrite(t, token, "xoxb-two-1\n")
	path := configFile(t, `
slack_token: xoxb-one
slack_api_url: `+one.APIURL()+`
channels:
  - {name: one, slack_channel: C0ONE, pace: 1ms}
  - {name: two, slack_channel: C0TWO, pace: 1ms, slack_token_file: `+token+`, slack_api_url: "`+two.APIURL()+`"}
  - {name: refused, slack_channel: C0REFUSED, pace: 1ms, slack_token: xoxb-refused}
  - {name: also, slack_channel: C0ALSO, pace: 1ms, slack_token: xoxb-refused}
`)
	one.Script("C0REFUSED", fakeslack.APIError("invalid_auth"))
	relay := startRelay(t, "RELAY_CONFIG="+path, "RELAY_REDIS_URL="+redistest.Start(t).URL)
	relay.post(t, "refused", event{Title: "refused"})
	require.Eventually(t, func() bool {
		return relay.status(t, "refused").State.Reason == "invalid_auth"
	}, 10*time.Second, 10*time.Millisecond)
	for _, channel := range []string{"one", "two", "also"} {
		relay.post(t, channel, event{Title: "before"})
	}
	relay.drained(t, "one", 10*time.Second)
	relay.drained(t, "two", 10*time.Second)
	require.Equal(t, []string{"xoxb-one"}, tokens(one, "C0ONE"))
	require.Equal(t, []string{"xoxb-two-1"}, tokens(two, "C0TWO"))
	require.Empty(t, tokens(one, "C0ALSO"), "its token is refused")
	require.Equal(t, "invalid_auth", relay.status(t, "also").State.Reason)
	require.Empty(t, relay.status(t, "two").State.Reason)

	loaded := relay.configuration(t).LoadedAt
	rewrite(t, token, "xoxb-two-2\n")
	require.Eventually(t, func() bool { return relay.configuration(t).LoadedAt.After(loaded) }, 10*time.Second, 10*time.Millisecond)
	relay.post(t, "two", event{Title: "after"})
	relay.drained(t, "two", 10*time.Second)
	require.Equal(t, []string{"xoxb-two-1", "xoxb-two-2"}, tokens(two, "C0TWO"))
	require.Len(t, one.Posts(), 1, "everything else goes to the other workspace")
}

func TestTheDoctorChecksEachToken(t *testing.T) {
	t.Parallel()
	one, two := workspace(t), workspace(t)
	two.Token = "xoxb-2"
	path := configFile(t, `
slack_token: xoxb-1
slack_api_url: `+one.APIURL()+`
channels:
  - {name: one, slack_channel: C0ALERTS}
  - {name: two, slack_channel: C0ALERTS, slack_token: xoxb-2, slack_api_url: "`+two.APIURL()+`"}
  - {name: three, slack_channel: C0ALERTS, slack_token: xoxb-very-secret, slack_api_url: "`+two.APIURL()+`"}
`)
	out, stderr, code := runRelay(t, nil, "slack", "doctor", "--config", path)
	require.Equal(t, 1, code, out+stderr)
	for _, line := range []string{
		"ok       slack_token: valid, for the bot relay in the workspace Fake\n",
		"ok       slack_token of channel two: valid, for the bot relay in the workspace Fake\n",
		"fault    slack_token of channel three: is not known to Slack\n",
		"ok       channel one: the bot can post to #alerts (C0ALERTS)\n",
		"ok       channel two: the bot can post to #alerts (C0ALERTS)\n",
	} {
		require.Contains(t, out, line)
	}
	require.NotContains(t, out, "   channel three: ", "its token says all")
	require.NotContains(t, out+stderr, "very-secret")
}
