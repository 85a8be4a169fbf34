package notifier_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
	"slackrelay/notifier/fakeslack"
	"slackrelay/test/golden"
)

const unknownCode = "a_code_that_nobody_knows"

// The golden lists what the relay does for each code that Slack may answer.
func TestGoldenCodesOfSlack(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	to := senders(t, slack)
	bot, _ := to["bot"].(notifier.Editor)
	var table strings.Builder
	for _, code := range append(notifier.Codes(), unknownCode) {
		slack.Script("C1", fakeslack.APIError(code))
		_, err := bot.Send(t.Context(), message)
		posted := failureOf(t, err)
		require.Contains(t, posted.Answer, code)
		table.WriteString(describe(code, posted))

		slack.Script("chat.update C1", fakeslack.APIError(code))
		edited := failureOf(t, bot.Edit(t.Context(), notifier.Receipt{Channel: "C1", TS: "1.000001"}, message))
		require.Equal(t, posted, edited, "chat.update answers %s", code)

		if code != unknownCode { // as a body it goes by the status
			slack.Script("C1", fakeslack.Reply{Status: http.StatusBadRequest, Body: code})
			_, err = to["webhook"].Send(t.Context(), message)
			require.Equal(t, posted, failureOf(t, err), "an incoming webhook answers %s", code)
		}
	}
	golden.File(t, "testdata/codes.golden", []byte(table.String()))
}

func failureOf(t *testing.T, err error) *notifier.Error {
	t.Helper()
	var failure *notifier.Error
	require.ErrorAs(t, err, &failure)
	return failure
}

// describe is a line of the golden.
func describe(code string, failure *notifier.Error) string {
	line := fmt.Sprintf("%-40s %s", code, failure.Action)
	if failure.After > 0 {
		line += " " + failure.After.String()
	}
	if failure.Reason != notifier.Reason(code) {
		line += ", reason " + string(failure.Reason)
	}
	for _, flag := range []struct {
		set  bool
		text string
	}{
		{failure.OwnFault, "own fault"},
		{failure.MaybePosted, "may have been posted"},
		{failure.CredentialRevoked(), "credential revoked"},
		{failure.MessageGone(), "message gone"},
	} {
		if flag.set {
			line += ", " + flag.text
		}
	}
	return line + "\n"
}

func TestIncomingWebhookErrorsAreReadFromTheBodyAtAnyStatus(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	webhook := senders(t, slack)["webhook"]
	for _, c := range []struct {
		status int
		bodies string
		action notifier.Action
	}{
		{
			http.StatusBadRequest, `invalid_payload no_text too_many_attachments invalid_blocks missing_text_or_fallback_or_attachments`,
			notifier.Degrade,
		},
		{http.StatusBadRequest, `user_not_found`, notifier.GiveUp},
		{http.StatusForbidden, `action_prohibited posting_to_general_channel_denied invalid_token team_disabled`, notifier.GiveUp},
		{http.StatusNotFound, `channel_not_found no_service no_service_id no_active_hooks no_team`, notifier.GiveUp},
		{http.StatusGone, `channel_is_archived`, notifier.GiveUp},
		{http.StatusInternalServerError, `rollup_error`, notifier.Retry},
	} {
		for body := range strings.FieldsSeq(c.bodies) {
			t.Run(body, func(t *testing.T) {
				slack.Script("C1", fakeslack.Reply{Status: c.status, Body: body})
				_, err := webhook.Send(t.Context(), message)
				failure := failureOf(t, err)
				require.Equal(t, c.action, failure.Action)
				require.Equal(t, notifier.Reason(body), failure.Reason)
				require.False(t, failure.MaybePosted)
			})
		}
	}
}

func TestEditReplacesThePostedMessage(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	bot, _ := senders(t, slack)["bot"].(notifier.Editor)
	receipt, err := bot.Send(t.Context(), message)
	require.NoError(t, err)
	changed := message
	changed.Text, changed.Entry = "changed", "alerts/7"
	require.NoError(t, bot.Edit(t.Context(), receipt, changed))
	posts := slack.Posts()
	require.Len(t, posts, 1)
	require.Len(t, posts[0].Edits, 1)
	edit := posts[0].Edits[0]
	require.Equal(t, "changed", edit.Get("text"))
	require.Equal(t, "none", edit.Get("parse"))
	require.Equal(t, receipt.TS, edit.Get("ts"))
	require.Contains(t, edit.Get("metadata"), "alerts/7")
	require.ErrorContains(t, bot.Edit(t.Context(), notifier.Receipt{Channel: "C1", TS: "9.000009"}, changed),
		"message_not_found (post instead)")
}

func TestFindFindsAMessageOnAnyPageAndInItsThreadOnly(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	bot, _ := senders(t, slack)["bot"].(*notifier.Bot)
	begin := time.Now()
	var posted []notifier.Receipt
	for i := range 450 {
		m := notifier.Message{Text: "x", ID: "event", Entry: "alerts/" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)}
		receipt, err := bot.Send(t.Context(), m)
		require.NoError(t, err)
		posted = append(posted, receipt)
	}
	reply, err := bot.Send(t.Context(), notifier.Message{Text: "x", Entry: "alerts/reply", Thread: posted[0].TS})
	require.NoError(t, err)
	look := func(q notifier.Query) (notifier.Page, int) {
		q.Since = begin
		for pages := 1; ; pages++ {
			page, err := bot.Find(t.Context(), q)
			require.NoError(t, err)
			if page.Found || page.Cursor == "" {
				return page, pages
			}
			q.Cursor = page.Cursor
		}
	}
	page, pages := look(notifier.Query{Entry: "alerts/a"})
	require.Equal(t, notifier.Page{Found: true, At: posted[0]}, page)
	require.Equal(t, 3, pages)
	page, _ = look(notifier.Query{Entry: "alerts/nowhere"})
	require.False(t, page.Found)
	page, _ = look(notifier.Query{Entry: "alerts/reply"})
	require.False(t, page.Found, "it is in a thread")
	page, _ = look(notifier.Query{Entry: "alerts/reply", Thread: posted[0].TS})
	require.Equal(t, notifier.Page{Found: true, At: reply}, page)
	slack.NoHistory = true
	_, err = bot.Find(t.Context(), notifier.Query{Entry: "alerts/a"})
	require.ErrorContains(t, err, "missing_scope")
}

func TestARefusedConnectionPostedNothing(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	url, api := slack.WebhookURL("C1", "x"), slack.APIURL()
	require.NoError(t, slack.Close())
	for _, sender := range []notifier.Sender{
		notifier.NewIncomingWebhook(url, 0),
		notifier.NewBot(notifier.BotOptions{Token: "x", Channel: "C1", APIURL: api}),
		notifier.NewJSONSink(url, time.Second),
	} {
		_, err := sender.Send(t.Context(), message)
		failure := failureOf(t, err)
		require.Equal(t, notifier.Retry, failure.Action)
		require.Equal(t, notifier.Network, failure.Reason)
		require.False(t, failure.MaybePosted)
	}
}

func TestABotOfAChannelNameLearnsTheIDFromItsFirstPost(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	senders(t, slack)
	bot := notifier.NewBot(notifier.BotOptions{Token: "x", Channel: "#alerts", APIURL: slack.APIURL()})
	require.False(t, bot.Findable())
	_, err := bot.Send(t.Context(), message)
	require.NoError(t, err)
	require.True(t, bot.Findable())
	require.NotContains(t, bot.Workspace(), "x", "the token does not show")
}
