package notifier_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/notifier/fakechat"
	"slackrelay/test/golden"
)

func TestChatServersAreToldByTheirPath(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://chat.example/hooks/ab1":                       true,
		"https://chat.example/mattermost/hooks/ab1":            true,
		"https://chat.example:3000/hooks/ab1/x%2Fy-_z":         true,
		"https://chat.example/hooks/ab1/user/token":            true,
		"https://chat.example/services/T/B/x":                  false,
		"https://chat.example/hooks/":                          false,
		"https://hooks.slack.com/services/T/B/x":               false,
		"https://hooks.slack.com/hooks/ab1":                    false,
		"https://discord.example/api/webhooks/1/token/slack":   false,
		"https://zulip.example/api/v1/external/slack_incoming": false,
		"%": false,
	} {
		require.Equal(t, want, notifier.IsChatServer(url), url)
	}
}

// chatServers are both servers, with the webhook of each.
func chatServers(t *testing.T) map[string]struct {
	*fakechat.Server
	webhook *notifier.IncomingWebhook
} {
	t.Helper()
	mattermost, rocketChat := fakechat.NewMattermost(), fakechat.NewRocketChat()
	t.Cleanup(func() {
		mattermost.Close()
		rocketChat.Close()
	})
	type server = struct {
		*fakechat.Server
		webhook *notifier.IncomingWebhook
	}
	return map[string]server{
		"mattermost": {mattermost, notifier.NewIncomingWebhook(mattermost.MattermostURL(), time.Second)},
		"rocketchat": {rocketChat, notifier.NewIncomingWebhook(rocketChat.RocketChatURL(), time.Second)},
	}
}

func TestEveryAnswerOfAChatServerBecomesADecision(t *testing.T) {
	t.Parallel()
	giveUp := func(reason notifier.Reason) notifier.Error {
		return notifier.Error{Action: notifier.GiveUp, Reason: reason}
	}
	degrade := func(reason notifier.Reason) notifier.Error {
		return notifier.Error{Action: notifier.Degrade, Reason: reason}
	}
	const tooLarge = "attachment_payload_limit_exceeded"
	doubtful := notifier.Error{Action: notifier.Retry, Reason: "no_service", OwnFault: true}
	unavailable := notifier.Error{Action: notifier.Retry, Reason: notifier.SlackUnavailable}
	unknown := notifier.Error{Action: notifier.Retry, Reason: notifier.UnknownAnswer, OwnFault: true}
	wait := func(after time.Duration) notifier.Error {
		return notifier.Error{Action: notifier.Wait, Reason: notifier.RateLimited, After: after}
	}
	servers := chatServers(t)
	for _, c := range []struct {
		server  string
		refusal fakechat.Refusal
		want    notifier.Error
	}{
		{"mattermost", fakechat.Refusal{Status: 400, Error: "web.incoming_webhook.invalid.app_error"}, doubtful},
		{"mattermost", fakechat.Refusal{Status: 501, Error: "web.incoming_webhook.disabled.app_error"}, giveUp("no_active_hooks")},
		{"mattermost", fakechat.Refusal{Status: 404, Error: "web.incoming_webhook.channel.app_error"}, giveUp("channel_not_found")},
		{"mattermost", fakechat.Refusal{Status: 404, Error: "app.channel.get.existing.app_error"}, giveUp("channel_not_found")},
		{"mattermost", fakechat.Refusal{Status: 500, Error: "app.channel.get.find.app_error"}, unavailable},
		{"mattermost", fakechat.Refusal{Status: 403, Error: "web.incoming_webhook.channel_locked.app_error"}, giveUp("action_prohibited")},
		{"mattermost", fakechat.Refusal{Status: 403, Error: "web.incoming_webhook.permissions.app_error"}, giveUp("action_prohibited")},
		{"mattermost", fakechat.Refusal{Status: 403, Error: "web.incoming_webhook.user.app_error"}, giveUp("user_not_found")},
		{"mattermost", fakechat.Refusal{Status: 400, Error: "api.post.create_post.can_not_post_to_deleted.error"}, giveUp("channel_is_archived")},
		{"mattermost", fakechat.Refusal{Status: 400, Error: "web.incoming_webhook.parse.app_error"}, degrade("invalid_payload")},
		{"mattermost", fakechat.Refusal{Status: 400, Error: "web.incoming_webhook.text.app_error"}, degrade("no_text")},
		{"mattermost", fakechat.Refusal{Status: 400, Error: "web.incoming_webhook.split_props_length.app_error"}, degrade(tooLarge)},
		{"mattermost", fakechat.Refusal{Status: 400, Error: "something.new.app_error"}, unknown},
		{"mattermost", fakechat.Refusal{Status: 429, RetryIn: 7}, wait(7 * time.Second)},

		{"rocketchat", fakechat.Refusal{Status: 404, Error: "Invalid integration id or token provided."}, giveUp("no_service")},
		{"rocketchat", fakechat.Refusal{Status: 401, Error: "You must be logged in to do this."}, giveUp("user_not_found")},
		{"rocketchat", fakechat.Refusal{Status: 400, Error: "invalid-channel"}, giveUp("channel_not_found")},
		{"rocketchat", fakechat.Refusal{Status: 400, Error: "room_is_archived"}, giveUp("channel_is_archived")},
		{"rocketchat", fakechat.Refusal{Status: 400, Error: "error-not-allowed"}, giveUp("action_prohibited")},
		{"rocketchat", fakechat.Refusal{Status: 400, Error: "error-message-size-exceeded"}, degrade("msg_too_long")},
		{"rocketchat", fakechat.Refusal{Status: 400, Error: "unknown-error"}, unknown},
		{"rocketchat", fakechat.Refusal{Status: 200, Error: "unknown-error"}, unknown},
		{"rocketchat", fakechat.Refusal{Status: 503, Error: "Service Unavailable"}, unavailable},
		{"rocketchat", fakechat.Refusal{Status: 429, RetryIn: 9}, wait(9 * time.Second)},
	} {
		t.Run(c.server+" "+c.refusal.Error, func(t *testing.T) {
			server := servers[c.server]
			server.Refuse(&c.refusal)
			_, err := server.webhook.Send(t.Context(), message)
			var failure *notifier.Error
			require.ErrorAs(t, err, &failure)
			require.NotContains(t, strings.ToLower(failure.Answer), "hookxofx", "it is the webhook's secret")
			require.Contains(t, failure.Answer, c.refusal.Error)
			got := *failure
			got.Answer = ""
			require.Equal(t, c.want, got, failure.Answer)
		})
	}
}

func TestChatServersRefuseAnUnknownWebhook(t *testing.T) {
	t.Parallel()
	servers := chatServers(t)
	for url, want := range map[string]notifier.Reason{
		servers["mattermost"].URL + "/hooks/xxotherxhookxxxxxxxxxxxxxxx":    "no_service",
		servers["rocketchat"].URL + "/hooks/RocketHookId00001/WrongTokenXX": "no_service",
	} {
		_, err := notifier.NewIncomingWebhook(url, time.Second).Send(t.Context(), message)
		var failure *notifier.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, want, failure.Reason)
		require.NotContains(t, err.Error(), "xxotherx")
	}
}

// exampleOf reads a golden message.
func exampleOf(t *testing.T, path string) (e example) {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &e))
	return e
}

// Each golden message has its Markdown beside it, as both servers show it.
func TestGoldenMarkdown(t *testing.T) {
	t.Parallel()
	servers := chatServers(t)
	paths, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	var all strings.Builder
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		one := exampleOf(t, path)
		rendered := one.render(t)
		shown := map[string]fakechat.Post{}
		for kind, server := range servers {
			_, err := server.webhook.Send(t.Context(), rendered)
			require.NoError(t, err, name)
			posts := server.Posts()
			shown[kind] = posts[len(posts)-1]
		}
		require.Equal(t, shown["rocketchat"], shown["mattermost"], "%s: Mattermost translates nothing", name)
		post := shown["mattermost"]
		if one.Renderer == nil {
			require.Empty(t, post.Mentions, name)
		}
		all.WriteString("==== " + name + "\n" + post.Text + "\n")
		for _, a := range post.Attachments {
			all.WriteString("---- " + a.Color + " " + a.ImageURL + "\n" + a.Text + "\n")
		}
	}
	golden.File(t, "testdata/markdown.golden", []byte(all.String()))
}

func TestAMessageOfASlackSenderIsReadableElsewhere(t *testing.T) {
	t.Parallel()
	server := chatServers(t)["mattermost"]
	blocks := `[{"type":"header","text":{"type":"plain_text","text":"Deploy"}},
		{"type":"section","text":{"type":"mrkdwn","text":"*api* is <https://x.example|live>"},"fields":[{"type":"mrkdwn","text":"by _ann_"}],
		 "accessory":{"type":"button","url":"https://x.example/a","text":{"type":"plain_text","text":"Open"}}},
		{"type":"divider"},
		{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"see "},
		 {"type":"link","url":"https://x.example/b","text":"log"}]}]},
		{"type":"table","rows":[[{"type":"raw_text","text":"host"},{"type":"raw_text","text":"load"}],
		 [{"type":"raw_text","text":"db|1"},{"type":"raw_text","text":"9"}]]},
		{"type":"image","image_url":"https://x.example/graph.png","alt_text":"graph","title":{"type":"plain_text","text":"Load"}},
		{"type":"actions","elements":[{"type":"button","action_id":"x","text":{"type":"plain_text","text":"Click"}},
		 {"type":"button","url":"https://x.example/c","text":{"type":"plain_text","text":"Runbook"}}]}]`
	attachments := `[{"color":"danger","pretext":"pre","title":"T","title_link":"https://x.example/t","text":"body","footer":"foot",
		"fields":[{"title":"F","value":"1"}],"fallback":"fb"}]`
	_, err := server.webhook.Send(t.Context(), notifier.Renderer{}.Render(events.Event{
		Title: "Deploy", Slack: &events.SlackMessage{Text: "hello", Blocks: []byte(blocks), Attachments: []byte(attachments)},
	}))
	require.NoError(t, err)
	require.Equal(t, []fakechat.Post{{
		Text: "hello",
		Attachments: []fakechat.Attachment{
			{
				Text: "**Deploy**\n**api** is [live](https://x.example)\nby _ann_\n[Open](https://x.example/a)\n---\nsee [log](https://x.example/b)\n" +
					"| host | load |\n|---|---|\n| db¦1 | 9 |\nLoad\n[Runbook](https://x.example/c)",
				ImageURL: "https://x.example/graph.png",
			},
			{
				Text:  "pre\n**[T](https://x.example/t)**\nbody\n**F** 1\nfoot",
				Color: "#e01e5a", Fallback: "fb",
			},
		},
	}}, server.Posts())
}

func TestAResetIsReadInEachForm(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for value, want := range map[string]string{
		"": "", "soon": "", "7": "7", "1800000042": "42", "1800000042500": "43", "1799999990": "-10",
	} {
		require.Equal(t, want, notifier.ResetAfter(value, now), value)
	}
}

// A gateway has its secret in the query, and may repeat it without its name.
func TestAnAnswerRevealsNoSecretOfTheQuery(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no such token: "+r.URL.Query().Get("token"), http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	to := notifier.NewIncomingWebhook(server.URL+"/notify?v=1&token=s3cr3t%2Ds3cr3t", time.Second)
	_, err := to.Send(t.Context(), notifier.Message{Text: "x"})
	require.ErrorContains(t, err, "no such token: …")
	require.NotContains(t, err.Error(), "s3cr3t-s3cr3t")
}
