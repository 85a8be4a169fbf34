package notifier_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/notifier/fakeslack"
)

var message = notifier.Renderer{}.Render(events.Event{
	Title: "Disk full", Text: "/var & more", Category: "disk", Severity: events.Critical, Source: "generic",
	Labels: map[string]string{"host": "db-1"}, Links: []events.Link{{Title: "Link", URL: "https://x.example"}},
})

// senders returns a bot and an incoming webhook of the fake Slack.
func senders(t *testing.T, slack *fakeslack.Server) map[string]notifier.Sender {
	t.Helper()
	t.Cleanup(func() {
		slack.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return map[string]notifier.Sender{
		"bot":     notifier.NewBot(notifier.BotOptions{Token: "xoxb-1", Channel: "C1", APIURL: slack.APIURL(), Timeout: time.Second}),
		"webhook": notifier.NewIncomingWebhook(slack.WebhookURL("C1", "very-secret"), time.Second),
	}
}

func fake(t *testing.T) *fakeslack.Server {
	t.Helper()
	slack, err := fakeslack.Start()
	require.NoError(t, err)
	return slack
}

func TestSendPostsHeadlineAndAttachmentWithoutUnfurling(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	for name, sender := range senders(t, slack) {
		receipt, err := sender.Send(t.Context(), message)
		require.NoError(t, err, name)
		posts := slack.Posts()
		last := posts[len(posts)-1]
		require.Equal(t, "C1", last.Channel)
		require.Equal(t, message.Text, last.Text)
		if name == "bot" {
			require.Equal(t, notifier.Receipt{Channel: "C1", TS: last.TS}, receipt)
			require.Regexp(t, `^\d+\.\d{6}$`, receipt.TS)
			require.Equal(t, "none", last.Form.Get("parse"))
			require.Equal(t, "false", last.Form.Get("unfurl_links"))
			require.Equal(t, "false", last.Form.Get("unfurl_media"))
			require.NotEqual(t, "1", last.Form.Get("link_names"))
			require.Contains(t, last.Form.Get("attachments"), "#e01e5a")
			continue
		}
		require.Equal(t, notifier.Receipt{}, receipt)
		require.Contains(t, string(last.Body), `"unfurl_links":false`)
		require.Contains(t, string(last.Body), "#e01e5a")
	}
}

func TestEveryAnswerOfSlackBecomesADecision(t *testing.T) {
	t.Parallel()
	code := fakeslack.APIError
	text := func(status int, body string) fakeslack.Reply { return fakeslack.Reply{Status: status, Body: body} }
	limit := func(after string) fakeslack.Reply { return fakeslack.Reply{Status: 429, RetryAfter: after} }
	wait := func(after time.Duration) notifier.Error {
		return notifier.Error{Action: notifier.Wait, Reason: "rate_limited", After: after}
	}
	for _, c := range []struct {
		sender string
		reply  fakeslack.Reply
		want   notifier.Error
	}{
		{"bot", limit("30"), wait(30 * time.Second)},
		{"bot", limit("0"), wait(time.Second)},
		{"bot", limit(""), wait(30 * time.Second)},
		{"bot", limit("1.5"), wait(2 * time.Second)},
		{"bot", limit("soon"), wait(30 * time.Second)},
		{"bot", limit("-5"), wait(time.Second)},
		{"bot", limit("9999999"), wait(time.Hour)},
		{"bot", limit("Fri, 31 Dec 1999 23:59:59 GMT"), wait(time.Second)},
		{"bot", code("ratelimited"), wait(30 * time.Second)},
		{"bot", code("rate_limited"), wait(30 * time.Second)},
		{"bot", code("message_limit_exceeded"), notifier.Error{Action: notifier.Wait, Reason: "message_limit_exceeded", After: 5 * time.Minute}},
		{"bot", code("internal_error"), notifier.Error{Action: notifier.Retry, Reason: "internal_error"}},
		{"bot", code("fatal_error"), notifier.Error{Action: notifier.Retry, Reason: "fatal_error", MaybePosted: true}},
		{"bot", code("channel_not_found"), notifier.Error{Action: notifier.GiveUp, Reason: "channel_not_found"}},
		{"bot", code("is_archived"), notifier.Error{Action: notifier.GiveUp, Reason: "is_archived"}},
		{"bot", code("invalid_blocks"), notifier.Error{Action: notifier.Degrade, Reason: "invalid_blocks"}},
		{"bot", code("invalid_auth"), notifier.Error{Action: notifier.StopToken, Reason: "invalid_auth"}},
		{"bot", code("token_revoked"), notifier.Error{Action: notifier.StopToken, Reason: "token_revoked"}},
		{"bot", code("missing_scope"), notifier.Error{Action: notifier.StopToken, Reason: "missing_scope"}},
		{"bot", code("brand_new_code"), notifier.Error{Action: notifier.Retry, Reason: "unknown_answer", OwnFault: true}},
		{"bot", text(200, `{"ok":false}`), notifier.Error{Action: notifier.Retry, Reason: "unknown_answer", OwnFault: true, MaybePosted: true}},
		{"bot", text(200, `{}`), notifier.Error{Action: notifier.Retry, Reason: "unknown_answer", OwnFault: true, MaybePosted: true}},
		{"bot", text(200, `<html>`), notifier.Error{Action: notifier.Retry, Reason: "unknown_answer", OwnFault: true, MaybePosted: true}},
		{"bot", text(204, ``), notifier.Error{Action: notifier.Retry, Reason: "unknown_answer", OwnFault: true}},
		{"bot", text(302, ``), notifier.Error{Action: notifier.Retry, Reason: "unknown_answer", OwnFault: true}},
		{"bot", text(500, `oops`), notifier.Error{Action: notifier.Retry, Reason: "slack_unavailable"}},
		{"bot", text(503, ``), notifier.Error{Action: notifier.Retry, Reason: "slack_unavailable"}},
		{"bot", fakeslack.Reply{Cut: true}, notifier.Error{Action: notifier.Retry, Reason: "network", MaybePosted: true}},
		{"bot", fakeslack.Reply{Cut: true, Posted: true}, notifier.Error{Action: notifier.Retry, Reason: "network", MaybePosted: true}},
		{"bot", fakeslack.Reply{Delay: 3 * time.Second}, notifier.Error{Action: notifier.Retry, Reason: "timeout", MaybePosted: true}},

		{"webhook", limit("7"), wait(7 * time.Second)},
		{"webhook", limit(""), wait(30 * time.Second)},
		{
			"webhook", text(200, "not ok at all"),
			notifier.Error{Action: notifier.Retry, Reason: "unknown_answer", OwnFault: true, MaybePosted: true},
		},
		{"webhook", text(400, "invalid_payload"), notifier.Error{Action: notifier.Degrade, Reason: "invalid_payload"}},
		{"webhook", text(400, "no_text"), notifier.Error{Action: notifier.Degrade, Reason: "no_text"}},
		{"webhook", text(403, "action_prohibited"), notifier.Error{Action: notifier.GiveUp, Reason: "action_prohibited"}},
		{"webhook", text(403, "invalid_token"), notifier.Error{Action: notifier.GiveUp, Reason: "invalid_token"}},
		{"webhook", text(404, "no_service"), notifier.Error{Action: notifier.GiveUp, Reason: "no_service"}},
		{"webhook", text(410, "channel_is_archived"), notifier.Error{Action: notifier.GiveUp, Reason: "channel_is_archived"}},
		{"webhook", text(500, "rollup_error"), notifier.Error{Action: notifier.Retry, Reason: "rollup_error"}},
		{"webhook", text(502, "<html>a page</html>"), notifier.Error{Action: notifier.Retry, Reason: "slack_unavailable", MaybePosted: true}},
		{"webhook", text(418, strings.Repeat("teapot", 1000)), notifier.Error{Action: notifier.Retry, Reason: "unknown_answer", OwnFault: true}},
		{"webhook", fakeslack.Reply{Cut: true}, notifier.Error{Action: notifier.Retry, Reason: "network", MaybePosted: true}},
		{"webhook", fakeslack.Reply{Delay: 3 * time.Second}, notifier.Error{Action: notifier.Retry, Reason: "timeout", MaybePosted: true}},
	} {
		t.Run(c.sender+" "+c.reply.Body+c.reply.RetryAfter, func(t *testing.T) {
			t.Parallel()
			slack := fake(t)
			sender := senders(t, slack)[c.sender]
			slack.Script("C1", c.reply)
			_, err := sender.Send(t.Context(), message)
			var failure *notifier.Error
			require.ErrorAs(t, err, &failure)
			require.NotEmpty(t, failure.Answer)
			require.Less(t, len(failure.Answer), 300)
			got := *failure
			got.Answer = ""
			require.Equal(t, c.want, got, failure.Answer)
			requireNoSecret(t, err)
		})
	}
}

func requireNoSecret(t *testing.T, err error) {
	t.Helper()
	require.NotContains(t, err.Error(), "very-secret")
	require.NotContains(t, err.Error(), "xoxb")
}

func TestRetryAfterMayBeADate(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	sender := senders(t, slack)["bot"]
	slack.Script("C1", fakeslack.Reply{Status: 429, RetryAfter: time.Now().Add(40 * time.Second).UTC().Format(http.TimeFormat)})
	_, err := sender.Send(t.Context(), message)
	var failure *notifier.Error
	require.ErrorAs(t, err, &failure)
	require.InDelta(t, 40*time.Second, failure.After, float64(2*time.Second))
}

func TestTheFakeSlackChecksTokenChannelAndText(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	slack.Token = "xoxb-other"
	_, err := senders(t, slack)["bot"].Send(t.Context(), message)
	require.ErrorContains(t, err, "invalid_auth")
	slack.Token = ""
	_, err = notifier.NewBot(notifier.BotOptions{Token: "x", APIURL: slack.APIURL()}).Send(t.Context(), message)
	require.ErrorContains(t, err, "channel_not_found")
	tooLong := message
	tooLong.Blocks = nil
	tooLong.Text = ""
	_, err = notifier.NewIncomingWebhook(slack.WebhookURL("C1", "x"), 0).Send(t.Context(), tooLong)
	require.NoError(t, err, "an attachment with a fallback is enough")
}

// The connection is refused, or the URL is not valid.
func TestSecretsStayOutOfTransportErrors(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	for _, url := range []string{
		"http://" + listener.Addr().String() + "/services/T/B/very-secret", "http://127.0.0.1:1/\x7fvery-secret", "very-secret://x/very-secret",
	} {
		_, err := notifier.NewIncomingWebhook(url, 0).Send(t.Context(), message)
		var failure *notifier.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, notifier.Retry, failure.Action)
		require.NotContains(t, strings.ReplaceAll(err.Error(), `unsupported protocol scheme "very-secret"`, ""), "very-secret")
	}
	_, err = notifier.NewBot(notifier.BotOptions{
		Token: "xoxb-1", Channel: "C",
		APIURL: "http://" + listener.Addr().String() + "/very-secret",
	}).Send(t.Context(), message)
	requireNoSecret(t, err)
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var asked int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	webhook := notifier.NewIncomingWebhook(server.URL, 0)
	_, err := webhook.Send(context.Background(), message) //nolint:usetesting // ends with the server
	require.Error(t, err)
	require.Equal(t, 1, asked)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestPreviewPrintsMessagesAndKeepsTheLatest(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	preview := notifier.NewPreview("alerts", &out, 2)
	for range 3 {
		_, err := preview.Send(t.Context(), message)
		require.NoError(t, err)
	}
	require.Len(t, preview.Messages(), 2)
	require.Equal(t, 3, strings.Count(out.String(),
		"#alerts  🔴 Disk full\n    /var & more\n    critical · disk · generic · host=db-1\n    Link\n"))
	preview.PrintTo(nil)
	_, err := preview.Send(t.Context(), message)
	require.NoError(t, err)
}

// One message of each of many channels is under way at the same time, round after round.
func TestManyChannelsKeepTheirConnections(t *testing.T) {
	t.Parallel()
	const channels, rounds = 20, 5
	var opened atomic.Int64
	var round sync.WaitGroup // no request is answered before all of a round have come
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		round.Done()
		round.Wait()
		_, _ = io.WriteString(w, "ok")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	webhook := notifier.NewIncomingWebhook(server.URL, 30*time.Second)
	for range rounds {
		round.Add(channels)
		var sends errgroup.Group
		for range channels {
			sends.Go(func() error { _, err := webhook.Send(t.Context(), message); return err })
		}
		require.NoError(t, sends.Wait())
	}
	require.LessOrEqual(t, opened.Load(), int64(2*channels), "each request but the first few finds an open connection")
}

// outsider returns a bot for a public channel that it is not a member of.
func outsider(t *testing.T, slack *fakeslack.Server) *notifier.Bot {
	t.Helper()
	t.Cleanup(func() { slack.Close() })
	slack.Conversations = []fakeslack.Conversation{{ID: "C012", Name: "alerts"}}
	return notifier.NewBot(notifier.BotOptions{Token: "xoxb-1", Channel: "C012", APIURL: slack.APIURL(), Timeout: time.Second})
}

func TestTheBotJoinsAPublicChannelOnce(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	slack.Scopes = []string{"chat:write", "channels:join"}
	bot := outsider(t, slack)
	_, err := bot.Send(t.Context(), message)
	waits, ok := errors.AsType[*notifier.Error](err)
	require.True(t, ok)
	require.Equal(t, notifier.Wait, waits.Action, "the message is sent again soon")
	require.False(t, waits.MaybePosted)
	_, err = bot.Send(t.Context(), message)
	require.NoError(t, err)
	require.Len(t, slack.Posts(), 1)

	slack.Script("C012", fakeslack.APIError("not_in_channel"))
	_, err = bot.Send(t.Context(), message)
	refused, ok := errors.AsType[*notifier.Error](err)
	require.True(t, ok)
	require.Equal(t, notifier.GiveUp, refused.Action, "somebody removed the bot: it stays away")
}

func TestTheBotCannotJoinWithoutTheScope(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	slack.Scopes = []string{"chat:write"}
	_, err := outsider(t, slack).Send(t.Context(), message)
	refused, ok := errors.AsType[*notifier.Error](err)
	require.True(t, ok)
	require.Equal(t, notifier.GiveUp, refused.Action)
	require.Equal(t, notifier.Reason("not_in_channel"), refused.Reason)
}

// A token of a whole organisation is refused in one workspace only: its other channels go on.
func TestAWithheldWorkspaceStopsOnlyItsChannels(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	t.Cleanup(func() { slack.Close() })
	slack.OrgWide = true
	slack.Conversations = []fakeslack.Conversation{{ID: "C1", Name: "near", IsMember: true}, {ID: "C2", Name: "far", Withheld: true}}
	app := notifier.NewApp(notifier.AppOptions{Token: "xoxb-1", APIURL: slack.APIURL(), Timeout: time.Second})
	for channel, want := range map[string]notifier.Reason{"C2": "team_access_not_granted", "#near": "team_not_found"} {
		_, err := app.Bot(channel).Send(t.Context(), message)
		failure, ok := errors.AsType[*notifier.Error](err)
		require.True(t, ok)
		require.Equal(t, notifier.GiveUp, failure.Action)
		require.Equal(t, want, failure.Reason)
	}
	_, err := app.Bot("C1").Send(t.Context(), message)
	require.NoError(t, err)
}
