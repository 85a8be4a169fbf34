package slackapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier/fakeslack"
	"slackrelay/slackapp"
)

func TestTheManifestAsksForEveryScopeOfTheTable(t *testing.T) {
	t.Parallel()
	encoded, err := slackapp.Manifest("")
	require.NoError(t, err)
	var manifest struct {
		Display  struct{ Name, Description string } `json:"display_information"`
		Settings struct {
			Sockets       bool `json:"socket_mode_enabled"`
			Interactivity struct {
				On  bool   `json:"is_enabled"`
				URL string `json:"request_url"`
			}
		}
		Features struct {
			Commands []struct{ Command, URL string } `json:"slash_commands"`
		}
		OAuth struct {
			Scopes struct{ Bot []string }
		} `json:"oauth_config"`
	}
	require.NoError(t, json.Unmarshal(encoded, &manifest))
	require.Equal(t, "relay", manifest.Display.Name)
	require.LessOrEqual(t, len(manifest.Display.Description), 140, "Slack's limit")
	var scopes []string
	for _, scope := range slackapp.Scopes() {
		scopes = append(scopes, scope.Name)
	}
	require.Equal(t, scopes, manifest.OAuth.Scopes.Bot)
	require.True(t, manifest.Settings.Sockets && manifest.Settings.Interactivity.On)
	require.Empty(t, manifest.Settings.Interactivity.URL+manifest.Features.Commands[0].URL, "sockets need no address")
	require.Equal(t, "/relay", manifest.Features.Commands[0].Command)

	byHTTP, err := slackapp.Manifest("https://relay.example.com/")
	require.NoError(t, err)
	manifest.Settings.Sockets = false
	require.NoError(t, json.Unmarshal(byHTTP, &manifest))
	require.False(t, manifest.Settings.Sockets)
	require.Equal(t, "https://relay.example.com/slack/interactions", manifest.Settings.Interactivity.URL)
	require.Equal(t, "https://relay.example.com/slack/commands", manifest.Features.Commands[0].URL)
	for _, wrong := range []string{
		"http://relay.example.com", "relay.example.com", "https://", "https://u:p@relay", "https://relay?x=1", "%",
	} {
		_, err := slackapp.Manifest(wrong)
		require.ErrorContains(t, err, "use the HTTPS address of the webhook listener", wrong)
	}

	page, err := slackapp.CreateURL("")
	require.NoError(t, err)
	u, err := url.Parse(page)
	require.NoError(t, err)
	require.Equal(t, "api.slack.com", u.Host)
	require.JSONEq(t, string(encoded), u.Query().Get("manifest_json"))
}

func TestTokenFault(t *testing.T) {
	t.Parallel()
	for token, fault := range map[string]string{
		"xoxb-1-2-abc": "",
		"xoxb-…":       "is a placeholder, not a token",
		"xoxb-...":     "is a placeholder, not a token",
		"xoxb-<token>": "is a placeholder, not a token",
		"xoxb-1 ":      "begins or ends with white space",
		"xapp-1-A":     "is an app-level token, which cannot post messages",
		"xoxp-1":       "is the token of a user, so that messages would be that person's",
		"xoxe-1":       "is a refresh or configuration token, which cannot post messages",
		"xoxc-1":       "is the token of a browser session, which Slack may end at any time",
		"hello":        "is not a bot token",
	} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			message, remedy := slackapp.TokenFault(token)
			require.Equal(t, fault, message)
			require.Equal(t, fault == "", remedy == "")
			require.NotContains(t, message+remedy, token)
		})
	}
}

// workspace is a fake Slack with a channel of each kind.
func workspace(t *testing.T, scopes ...string) *fakeslack.Server {
	t.Helper()
	slack, err := fakeslack.Start()
	require.NoError(t, err)
	t.Cleanup(func() { slack.Close() })
	slack.Token = "xoxb-good"
	slack.Scopes = scopes
	slack.Conversations = []fakeslack.Conversation{
		{ID: "CMEMBER", Name: "alerts", IsMember: true},
		{ID: "COUTSIDE", Name: "general"},
		{ID: "CARCHIVED", Name: "old", IsMember: true, IsArchived: true},
		{ID: "CREADONLY", Name: "announcements", IsMember: true, IsReadOnly: true},
		{ID: "GMEMBER", Name: "secret", IsMember: true, IsPrivate: true},
		{ID: "GOUTSIDE", Name: "other-secret", IsPrivate: true},
	}
	return slack
}

func all() (scopes []string) {
	for _, scope := range slackapp.Scopes() {
		scopes = append(scopes, scope.Name)
	}
	return scopes
}

func without(left string) (scopes []string) {
	for _, scope := range all() {
		if scope != left {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// tokenCheck is the name of scripts of auth.test.
const tokenCheck = "auth.test "

// inspect checks the token and a channel, and returns the findings in lines.
func inspect(t *testing.T, opts slackapp.InspectorOptions, channel string) string {
	t.Helper()
	inspector := slackapp.NewInspector(opts)
	findings := inspector.Token(t.Context())
	if slackapp.Worst(findings) != slackapp.Fault {
		checked, _ := inspector.Channel(t.Context(), "channel a", channel)
		findings = append(findings, checked...)
	}
	var lines []string
	for _, f := range findings {
		line := string(f.Grade) + " " + f.Subject + ": " + f.Message
		if f.Remedy != "" {
			line += " -> " + f.Remedy
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Each row is a fault that people meet when they set up Slack, and what they read.
func TestFindings(t *testing.T) {
	t.Parallel()
	const valid = "ok slack_token: valid, for the bot relay in the workspace Fake\n"
	const again = " -> add it under OAuth & Permissions, and install the app to the workspace again"
	for name, c := range map[string]struct {
		scopes  []string
		token   string
		real    bool // the API is Slack's own; the token is refused before it is called
		channel string
		fault   string // of auth.test
		script  map[string]fakeslack.Reply
		want    string
	}{
		"all is well":   {channel: "CMEMBER", want: valid + "ok channel a: the bot can post to #alerts (CMEMBER)"},
		"a private one": {channel: "GMEMBER", want: valid + "ok channel a: the bot can post to #secret (GMEMBER)"},
		"a wrong token": {
			token: "xoxb-bad",
			want:  "fault slack_token: is not known to Slack -> copy the Bot User OAuth Token again, completely",
		},
		"a revoked token": {fault: "token_revoked", want: "fault slack_token: was revoked -> install the app again, and use its new token"},
		"an app that was removed": {
			fault: "account_inactive",
			want:  "fault slack_token: belongs to an app that was removed from the workspace -> install the app again, and use its new token",
		},
		"a token that rotates": {
			fault: "token_expired",
			want: "fault slack_token: has expired, because token rotation is on -> turn token rotation off: create the app from " +
				"relay slack manifest",
		},
		"another code": {
			fault: "ekm_access_denied",
			want:  "fault slack_token: was refused by Slack: ekm_access_denied -> look the code up in Slack's documentation",
		},
		"no chat:write": {
			scopes: without("chat:write"),
			want:   valid + "fault slack_token: lacks the scope chat:write: the relay cannot post and edit messages" + again,
		},
		"no history": {
			scopes: without("channels:history"), channel: "CMEMBER",
			want: valid + "warning slack_token: lacks the scope channels:history: the relay cannot find out whether an uncertain message " +
				"was posted to a public channel" + again + "\nok channel a: the bot can post to #alerts (CMEMBER)",
		},
		"no channels:read": {
			scopes: without("channels:read"), channel: "CMEMBER",
			want: valid + "warning slack_token: lacks the scope channels:read: the relay cannot check public channels before an alert " +
				"needs them, and find the ids of their names" + again + "\nwarning channel a: CMEMBER cannot be checked without the scopes " +
				"channels:read and groups:read" + again,
		},
		"a name": {
			channel: "#alerts",
			want: valid + "warning channel a: #alerts is a name, which may change -> set slack_channel to its id, CMEMBER\n" +
				"ok channel a: the bot can post to #alerts (CMEMBER)",
		},
		"a name of nothing": {
			channel: "alrets",
			want: valid + "fault channel a: no channel that the bot can see is named alrets -> correct slack_channel; if the channel is " +
				"private, invite the bot there: /invite @relay",
		},
		"an id of nothing": {
			channel: "C0NOTHING",
			want: valid + "fault channel a: no channel that the bot can see has the id C0NOTHING -> correct slack_channel; if the channel " +
				"is private, invite the bot there: /invite @relay",
		},
		"a private channel without the bot": {
			channel: "GOUTSIDE",
			want: valid + "fault channel a: no channel that the bot can see has the id GOUTSIDE -> correct slack_channel; if the channel " +
				"is private, invite the bot there: /invite @relay",
		},
		"a public channel that it joins": {
			channel: "COUTSIDE",
			want: valid + "warning channel a: the bot is not a member of #general yet; it joins with its first message\n" +
				"ok channel a: the bot can post to #general (COUTSIDE)",
		},
		"a public channel that it may not join": {
			scopes: without("channels:join"), channel: "COUTSIDE",
			want: valid + "warning slack_token: lacks the scope channels:join: the relay cannot join public channels" + again +
				"\nfault channel a: the bot is not a member of #general, and cannot post there -> invite it: /invite @relay in #general",
		},
		"chat:write.public": {
			scopes: append(without("channels:join"), "chat:write.public"), channel: "COUTSIDE",
			want: valid + "warning slack_token: lacks the scope channels:join: the relay cannot join public channels" + again +
				"\nwarning channel a: the bot is not a member of #general: it can post, but not find out whether an uncertain message was " +
				"posted -> invite it: /invite @relay in #general\nok channel a: the bot can post to #general (COUTSIDE)",
		},
		"an archived channel": {
			channel: "CARCHIVED",
			want:    valid + "fault channel a: #old is archived -> unarchive it, or set another slack_channel",
		},
		"a read-only channel": {
			channel: "CREADONLY",
			want: valid + "warning channel a: #announcements is read-only for some -> let the bot post there: in the channel's settings, " +
				"Posting permissions\nok channel a: the bot can post to #announcements (CREADONLY)",
		},
		"a placeholder": {
			token: "xoxb-your-token", real: true,
			want: "fault slack_token: is a placeholder, not a token -> copy the Bot User OAuth Token of the app's page OAuth & Permissions; " +
				"it begins with xoxb-",
		},
		"the token of a user": {
			token: "xoxp-1-2", real: true,
			want: "fault slack_token: is the token of a user, so that messages would be that person's -> copy the Bot User OAuth Token of the " +
				"app's page OAuth & Permissions; it begins with xoxb-",
		},
		"an app-level token": {
			token: "xapp-1-2", real: true,
			want: "fault slack_token: is an app-level token, which cannot post messages -> copy the Bot User OAuth Token of the app's page " +
				"OAuth & Permissions; it begins with xoxb-",
		},
		"an organisation without the workspace": {
			fault: "team_access_not_granted",
			want: "fault slack_token: is in a workspace that the organisation has not given the app access to -> ask an administrator " +
				"of the organisation to add the app to the workspace",
		},
		"a workspace that moves": {
			fault: "org_login_required",
			want:  "fault slack_token: cannot be used while the workspace moves to an organisation -> try again later",
		},
		"no groups:read, and a name": {
			scopes: without("groups:read"), channel: "secret",
			want: valid + "warning slack_token: lacks the scope groups:read: the relay cannot do the same with private channels" + again +
				"\nwarning channel a: no channel that the bot can see is named secret -> correct slack_channel; if the channel is private, " +
				"invite the bot there: /invite @relay",
		},
		"a name and a token of the organisation": {
			channel: "#alerts", script: map[string]fakeslack.Reply{"conversations.list ": fakeslack.APIError("team_not_found")},
			want: valid + "fault channel a: #alerts cannot be found by a token of the whole organisation -> set slack_channel to its id",
		},
		"a token that is revoked meanwhile": {
			channel: "CMEMBER", script: map[string]fakeslack.Reply{"conversations.info CMEMBER": fakeslack.APIError("token_revoked")},
			want: valid + "fault slack_token: was revoked -> install the app again, and use its new token",
		},
		"a direct message": {
			channel: "U012345",
			want:    valid + "ok channel a: posts direct messages to the user U012345, which only a message can test",
		},
		"a limited rate": {
			channel: "CMEMBER", script: map[string]fakeslack.Reply{"conversations.info CMEMBER": {Status: 429, RetryAfter: "1"}},
			want: valid + "ok channel a: the bot can post to #alerts (CMEMBER)",
		},
		"Slack is down": {
			script: map[string]fakeslack.Reply{tokenCheck: {Status: 503, Body: "down"}},
			want:   "fault slack_token: could not be checked: the answer was 503 -> check slack_api_url, and https://slack-status.com",
		},
		"history that fails": {
			channel: "CMEMBER", script: map[string]fakeslack.Reply{"conversations.history CMEMBER": fakeslack.APIError("internal_error")},
			want: valid + "warning channel a: the history of #alerts was refused by Slack: internal_error -> look the code up in Slack's " +
				"documentation\nok channel a: the bot can post to #alerts (CMEMBER)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scopes := c.scopes
			if scopes == nil {
				scopes = all()
			}
			slack := workspace(t, scopes...)
			if c.fault != "" {
				slack.Script(tokenCheck, fakeslack.APIError(c.fault))
			}
			for method, reply := range c.script {
				slack.Script(method, reply)
			}
			token := c.token
			if token == "" {
				token = "xoxb-good"
			}
			opts := slackapp.InspectorOptions{Token: token, APIURL: slack.APIURL()}
			if c.real {
				opts.APIURL = ""
			}
			require.Equal(t, c.want, inspect(t, opts, c.channel))
		})
	}
}

func TestAWorkspaceThatCannotBeReached(t *testing.T) {
	t.Parallel()
	slack := workspace(t)
	require.NoError(t, slack.Close())
	findings := inspect(t, slackapp.InspectorOptions{Token: "xoxb-very-secret", APIURL: slack.APIURL()}, "")
	require.Contains(t, findings, "fault slack_token: could not be checked: dial tcp")
	require.Contains(t, findings, " -> check the network, the proxy and slack_api_url")
	require.NotContains(t, findings, "very-secret")
}

func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	slack := workspace(t, all()...)
	hourAgo := func() time.Time { return time.Now().Add(-time.Hour) }
	findings := inspect(t, slackapp.InspectorOptions{Token: "xoxb-good", APIURL: slack.APIURL(), Now: hourAgo}, "CMEMBER")
	require.Regexp(t, `warning clock: differs from Slack's by (1h0m0s|59m59s|1h0m1s) -> synchronise this machine's clock \(NTP\)`, findings)
}

func TestAPlaceholderIsNotSentToSlack(t *testing.T) {
	t.Parallel()
	require.Equal(t, "fault slack_token: is a placeholder, not a token -> copy the Bot User OAuth Token of the app's page "+
		"OAuth & Permissions; it begins with xoxb-", inspect(t, slackapp.InspectorOptions{Token: "xoxb-…"}, ""))
}

func TestAppTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token  string
		answer fakeslack.Reply
		want   slackapp.Finding
	}{
		"all is well": {"xapp-1-A-1-a", fakeslack.Reply{Body: `{"ok":true,"url":"wss://127.0.0.1/link"}`}, slackapp.Finding{
			Grade: slackapp.OK, Message: "valid, and can open a socket",
		}},
		"a placeholder": {"xapp-…", fakeslack.Reply{}, slackapp.Finding{
			Grade: slackapp.Fault, Message: "is a placeholder, not a token",
			Remedy: "generate an app-level token with the scope connections:write on the app's page Basic Information; it begins with xapp-",
		}},
		"a bot token": {"xoxb-1", fakeslack.Reply{}, slackapp.Finding{
			Grade: slackapp.Fault, Message: "is a bot token, which cannot open sockets",
			Remedy: "generate an app-level token with the scope connections:write on the app's page Basic Information; it begins with xapp-",
		}},
		"another text": {"hello", fakeslack.Reply{}, slackapp.Finding{
			Grade: slackapp.Fault, Message: "is not an app-level token",
			Remedy: "generate an app-level token with the scope connections:write on the app's page Basic Information; it begins with xapp-",
		}},
		"an unknown token": {"xapp-1-A-1-a", fakeslack.APIError("invalid_auth"), slackapp.Finding{
			Grade: slackapp.Fault, Message: "is not known to Slack",
			Remedy: "copy the app-level token of the app's page Basic Information; it begins with xapp-",
		}},
		"no connections:write": {"xapp-1-A-1-a", fakeslack.APIError("missing_scope"), slackapp.Finding{
			Grade: slackapp.Fault, Message: "lacks the scope connections:write",
			Remedy: "make an app-level token with connections:write on the app's page Basic Information",
		}},
		"Socket Mode is off": {"xapp-1-A-1-a", fakeslack.APIError("socket_mode_not_enabled"), slackapp.Finding{
			Grade: slackapp.Fault, Message: "cannot open a socket, because Socket Mode is off",
			Remedy: "turn it on, on the app's page Socket Mode, or create the app from relay slack manifest",
		}},
		"Slack is down": {"xapp-1-A-1-a", fakeslack.Reply{Status: 503, Body: "down"}, slackapp.Finding{
			Grade: slackapp.Fault, Message: "could not be checked: the answer was 503",
			Remedy: "check slack_api_url, and https://slack-status.com",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack := workspace(t)
			slack.Script("apps.connections.open ", c.answer)
			c.want.Subject = "slack_app_token"
			findings := slackapp.AppToken(t.Context(), slackapp.InspectorOptions{Token: c.token, APIURL: slack.APIURL()})
			require.Equal(t, []slackapp.Finding{c.want}, findings)
		})
	}
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://hooks.slack.com/services/T0001/B0001/s3cret": "ok posts to an incoming webhook, which only a message can test",
		"https://chat.example.com/hooks/s3cret":               "ok posts to chat.example.com, which is not Slack; only a message can test it",
		"https://hooks.slack.com/triggers/T0001/1/s3cret":     "fault has a workflow trigger as slack_webhook_url, which accepts no messages",
		"https://hooks.slack.com/workflows/T0001/A1/1/s3cret": "fault has a workflow trigger as slack_webhook_url, which accepts no messages",
		"https://hooks.slack.com/services/T0001/B0001/XXXXXX": "fault has a placeholder as slack_webhook_url",
		"https://hooks.slack.com/services/T0001/s3cret": "fault has a slack_webhook_url that is not of the form " +
			"https://hooks.slack.com/services/T…/B…/…",
		"http://hooks.slack.com/services/T0001/B0001/s3cret": "fault has a slack_webhook_url without https",
		"hooks.slack.com/services/T0001/B0001/s3cret":        "fault has a slack_webhook_url that is not a URL",
	} {
		finding := slackapp.Webhook("channel a", address)
		require.Equal(t, want, string(finding.Grade)+" "+finding.Message)
		require.Equal(t, finding.Grade == slackapp.Fault, finding.Remedy != "")
		require.NotContains(t, finding.Message+finding.Remedy, "s3cret")
	}
}

// Many channels are listed, in few calls; the bot joins those that it may.
func TestManyChannelsAreListedInsteadOfAskedAbout(t *testing.T) {
	t.Parallel()
	slack := workspace(t, all()...)
	var names []string
	for n := range 3000 {
		id := fmt.Sprintf("C%05d", n)
		names = append(names, id)
		slack.Conversations = append(slack.Conversations, fakeslack.Conversation{ID: id, Name: fmt.Sprintf("team-%d", n), IsMember: n != 7})
	}
	calls := map[string]int{}
	inspector := slackapp.NewInspector(slackapp.InspectorOptions{
		Token: "xoxb-good", APIURL: slack.APIURL(), Join: true, Brief: true,
		Pace: func(_ context.Context, method string) error {
			calls[method]++
			return nil
		},
	})
	require.NotEqual(t, slackapp.Fault, slackapp.Worst(inspector.Token(t.Context())))
	require.NoError(t, inspector.Expect(t.Context(), names))
	for _, name := range names {
		findings, id := inspector.Channel(t.Context(), "channel", name)
		require.Equal(t, name, id)
		require.Equal(t, slackapp.OK, slackapp.Worst(findings), findings)
	}
	for n := range 100 {
		findings, _ := inspector.Channel(t.Context(), "channel", fmt.Sprintf("CNONE%d", n))
		require.Equal(t, slackapp.Fault, slackapp.Worst(findings))
	}
	findings, _ := inspector.Channel(t.Context(), "channel", "D0123")
	require.Equal(t, slackapp.Warning, slackapp.Worst(findings), "direct messages are not listed")
	require.Equal(t, map[string]int{"conversations.list": 4, "conversations.join": 1, "conversations.info": 25}, calls)
}
