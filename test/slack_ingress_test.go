package test

import (
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
)

// What it posts arrives, an update changes its message, a reply is in its thread, and nobody is mentioned.
func TestSlackGoPostsThroughTheRelay(t *testing.T) {
	t.Parallel()
	workspace, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, workspace, "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=tok")...)
	api := slack.New("tok", slack.OptionAPIURL(relay.public+"/api/"))
	who, err := api.AuthTestContext(t.Context())
	require.NoError(t, err)
	require.Equal(t, "default", who.User)

	channel, ts, err := api.PostMessageContext(t.Context(), "alerts", slack.MsgOptionText("Deploy *started* <!channel> a &lt; b", false),
		slack.MsgOptionAttachments(slack.Attachment{Color: "danger", Title: "shop", TitleLink: "https://ci.example/1"}))
	require.NoError(t, err)
	require.Equal(t, "alerts", channel)
	relay.drained(t, "alerts", 10*time.Second)
	first := workspace.Posts()[0]
	require.Contains(t, first.Form.Get("text"), "Deploy *started*")
	require.Contains(t, first.Form.Get("text"), "a &lt; b", "mrkdwn is not escaped again")
	require.NotContains(t, first.Form.Encode(), "%3C%21channel%3E", "nobody is called")
	require.Contains(t, first.Form.Get("attachments"), "https://ci.example/1")
	require.NotEqual(t, ts, first.TS, "the relay's name for it is its own")

	_, replied, err := api.PostMessageContext(t.Context(), "C0ALERTS", slack.MsgOptionText("half way", false), slack.MsgOptionTS(ts))
	require.NoError(t, err)
	require.NotEqual(t, ts, replied)
	relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, first.TS, workspace.Posts()[1].Thread)

	_, updated, _, err := api.UpdateMessageContext(t.Context(), "alerts", ts, slack.MsgOptionText("Deploy *done*", false))
	require.NoError(t, err)
	require.Equal(t, ts, updated)
	require.Eventually(t, func() bool {
		edits := workspace.Posts()[0].Edits
		return len(edits) > 0 && strings.Contains(edits[len(edits)-1].Get("text"), "Deploy *done*")
	}, 10*time.Second, 10*time.Millisecond)
	_, _, _, err = api.UpdateMessageContext(t.Context(), "alerts", "1700000000.000100", slack.MsgOptionText("x", false))
	require.ErrorContains(t, err, "message_not_found")
	_, _, err = api.PostMessageContext(t.Context(), "nowhere", slack.MsgOptionText("x", false))
	require.ErrorContains(t, err, "channel_not_found")
	_, _, err = slack.New("wrong", slack.OptionAPIURL(relay.public+"/api/")).PostMessageContext(t.Context(), "alerts",
		slack.MsgOptionText("x", false))
	require.ErrorContains(t, err, "invalid_auth")

	hook := relay.public + "/services/alerts/tok"
	require.NoError(t, slack.PostWebhookContext(t.Context(), hook,
		&slack.WebhookMessage{Text: "by webhook", Blocks: &slack.Blocks{BlockSet: []slack.Block{
			slack.NewHeaderBlock(slack.NewTextBlockObject(slack.PlainTextType, "Backup failed", false, false)),
			slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, "on *db-1*", false, false), nil, nil),
		}}}))
	relay.drained(t, "alerts", 10*time.Second)
	posts := workspace.Posts()
	require.Len(t, posts, 3)
	require.Contains(t, posts[2].Form.Get("blocks"), "Backup failed")
	require.Contains(t, posts[2].Form.Get("blocks"), "on *db-1*")
	status := relay.status(t, "alerts")
	require.Zero(t, status.Ledger.Imbalance())
	require.Equal(t, int64(3), status.Levels[0].Used, "an update takes no slot")
	require.Equal(t, int64(1), status.Ledger.Merged, "an update takes no slot")
}
