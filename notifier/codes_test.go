package notifier_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
	"slackrelay/notifier/fakeslack"
)

// outcomes is what becomes of a message for each code of Slack's, as the documentation of chat.postMessage,
// chat.update and incoming webhooks has them.
var outcomes = map[notifier.Action]string{
	notifier.GiveUp: `channel_not_found not_in_channel is_archived is_inactive restricted_action restricted_action_read_only_channel
		restricted_action_thread_only_channel restricted_action_non_threadable_channel restricted_action_thread_locked
		cannot_reply_to_message messages_tab_disabled ekm_access_denied team_not_found`,
	notifier.StopToken: `invalid_auth not_authed token_revoked token_expired account_inactive missing_scope no_permission
		not_allowed_token_type access_denied accesslimited enterprise_is_restricted team_access_not_granted
		two_factor_setup_required as_user_not_supported deprecated_endpoint method_deprecated`,
	notifier.Degrade: `no_text msg_too_long msg_blocks_too_long invalid_blocks invalid_blocks_format attachment_payload_limit_exceeded
		too_many_attachments invalid_attachments invalid_metadata_format invalid_metadata_schema metadata_too_large
		metadata_must_be_sent_from_app markdown_text_conflict invalid_arguments invalid_arg_name invalid_array_arg
		invalid_charset invalid_form_data invalid_post_type missing_post_type invalid_json json_not_object
		too_many_contact_cards block_mismatch`,
	notifier.Wait:  `ratelimited rate_limited message_limit_exceeded team_added_to_org org_login_required external_channel_migrating`,
	notifier.Retry: `internal_error fatal_error service_unavailable request_timeout update_failed a_code_that_nobody_knows`,
	notifier.Repost: `message_not_found cant_update_message edit_window_closed streaming_state_conflict
		no_dual_broadcast_content_update`,
}

func TestEveryCodeOfTheWebAPI(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	bot, _ := senders(t, slack)["bot"].(notifier.Editor)
	for action, codes := range outcomes {
		for code := range strings.FieldsSeq(codes) {
			slack.Script("C1", fakeslack.APIError(code))
			slack.Script("chat.update C1", fakeslack.APIError(code))
			_, posting := bot.Send(t.Context(), message)
			for _, err := range []error{posting, bot.Edit(t.Context(), notifier.Receipt{Channel: "C1", TS: "1.000001"}, message)} {
				var failure *notifier.Error
				require.ErrorAs(t, err, &failure, code)
				require.Equal(t, action, failure.Action, code)
				require.Contains(t, failure.Answer, code)
				unknown := code == "a_code_that_nobody_knows"
				require.Equal(t, unknown, failure.OwnFault, "only an unknown answer may be the message's own fault: %s", code)
				require.Equal(t, code == "fatal_error", failure.Doubt, code)
				switch {
				case unknown:
					require.Equal(t, notifier.UnknownAnswer, failure.Reason)
				case code == "ratelimited":
					require.Equal(t, notifier.RateLimited, failure.Reason)
				default:
					require.Equal(t, notifier.Reason(code), failure.Reason)
				}
				require.Equal(t, action == notifier.Wait, failure.After >= time.Second, code)
			}
		}
	}
}

func TestEveryBodyOfAnIncomingWebhook(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	hook := senders(t, slack)["webhook"]
	for _, c := range []struct {
		status int
		bodies string
		action notifier.Action
	}{
		{http.StatusBadRequest, `invalid_payload no_text too_many_attachments invalid_blocks missing_text_or_fallback_or_attachments`, notifier.Degrade},
		{http.StatusBadRequest, `user_not_found`, notifier.GiveUp},
		{http.StatusForbidden, `action_prohibited posting_to_general_channel_denied invalid_token team_disabled`, notifier.GiveUp},
		{http.StatusNotFound, `channel_not_found no_service no_service_id no_active_hooks no_team`, notifier.GiveUp},
		{http.StatusGone, `channel_is_archived`, notifier.GiveUp},
		{http.StatusInternalServerError, `rollup_error`, notifier.Retry},
	} {
		for body := range strings.FieldsSeq(c.bodies) {
			slack.Script("C1", fakeslack.Reply{Status: c.status, Body: body})
			_, err := hook.Send(t.Context(), message)
			var failure *notifier.Error
			require.ErrorAs(t, err, &failure, body)
			require.Equal(t, c.action, failure.Action, body)
			require.Equal(t, notifier.Reason(body), failure.Reason)
			require.False(t, failure.Doubt, body)
		}
	}
}

func TestEdit(t *testing.T) {
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
	require.Equal(t, []string{"changed", "none", receipt.TS}, []string{edit.Get("text"), edit.Get("parse"), edit.Get("ts")})
	require.Contains(t, edit.Get("metadata"), "alerts/7")
	require.ErrorContains(t, bot.Edit(t.Context(), notifier.Receipt{Channel: "C1", TS: "9.000009"}, changed), "message_not_found (post instead)")
}

// A message is found by its metadata, on whichever page it is, in the channel and in a thread.
func TestFind(t *testing.T) {
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

// Nothing was sent where no connection was made.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	url, api := slack.WebhookURL("C1", "x"), slack.APIURL()
	require.NoError(t, slack.Close())
	for _, sender := range []notifier.Sender{
		notifier.NewWebhook(notifier.WebhookOptions{URL: url}), notifier.NewBot(notifier.BotOptions{Token: "x", Channel: "C1", APIURL: api}),
		notifier.NewHook(url, time.Second),
	} {
		_, err := sender.Send(t.Context(), message)
		var failure *notifier.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, []any{notifier.Retry, notifier.Network, false}, []any{failure.Action, failure.Reason, failure.Doubt})
	}
}

func TestABotByNameLearnsItsID(t *testing.T) {
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
