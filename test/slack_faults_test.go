package test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
)

// Nothing is lost and nothing is posted twice.
func TestSlack429PausesOnlyItsChannel(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNELS=alerts,other", "RELAY_CHANNEL_OTHER_SLACK_CHANNEL=C0OTHER")...)
	slack.Script("C0ALERTS", fakeslack.Reply{Status: 429, RetryAfter: "5"})
	relay.post(t, "alerts", []event{{Title: "first"}, {Title: "second"}})
	require.Eventually(t, func() bool {
		return relay.status(t, "alerts").State.Reason == "rate_limited"
	}, 10*time.Second, 5*time.Millisecond)
	require.NotNil(t, relay.status(t, "alerts").State.PausedUntil)
	require.Equal(t, "1", relay.metric(t, `relay_channel_paused{channel="alerts",reason="rate_limited"}`))
	relay.post(t, "other", event{Title: "not delayed"})
	relay.drained(t, "other", 4*time.Second)
	require.Equal(t, int64(2), relay.status(t, "alerts").Ledger.Pending, "still waiting")

	relay.drained(t, "alerts", 20*time.Second)
	var alerts []string
	for _, post := range slack.Posts() {
		if post.Channel == "C0ALERTS" {
			alerts = append(alerts, post.Text)
		}
	}
	require.Len(t, alerts, 2)
	require.Contains(t, alerts[0], "first", "the order is kept")
}

func TestSlackErrorsAreRetriedAndRefusalsBuried(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack)...)
	slack.Script("C0ALERTS",
		fakeslack.Reply{Status: 500, Body: "oops"},
		fakeslack.Reply{Cut: true},
		fakeslack.Reply{}, // the first message gets through
		fakeslack.APIError("is_archived"),
	)
	relay.post(t, "alerts", []event{{Title: "first"}, {Title: "refused"}, {Title: "third"}})
	status := relay.drained(t, "alerts", 30*time.Second)
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 2, Failed: 1}, status.Ledger)
	require.Equal(t, "1", relay.metric(t, `relay_messages_total{channel="alerts",result="retried"}`))
	require.Equal(t, "1", relay.metric(t, `relay_messages_total{channel="alerts",result="unknown"}`),
		"it was looked up before it was sent again")
	require.Equal(t, "1", relay.metric(t, `relay_messages_total{channel="alerts",result="failed"}`))
	dead := redis.Client().XRange(t.Context(), "relay:{alerts}:dead:alerts", "-", "+").Val()
	require.Len(t, dead, 1)
	require.Equal(t, "is_archived", dead[0].Values["reason"])
	require.Contains(t, dead[0].Values["entry"], `"title":"refused"`)
}

// Then the next message is sent.
func TestUnknownAnswerOfSlackIsRetriedThreeTimes(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack)...)
	strange := fakeslack.APIError("never_heard_of")
	slack.Script("C0ALERTS", strange, strange, strange)
	relay.post(t, "alerts", []event{{Title: "strange"}, {Title: "next"}})
	status := relay.drained(t, "alerts", 30*time.Second)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, status.Ledger)
	require.Equal(t, 4, slack.Requests())
}

func TestRevokedTokenPausesTheChannelAndKeepsItsMessages(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	slack.Token = "xoxb-other"
	relay := startRelay(t, fast(redis.URL, slack)...)
	relay.post(t, "alerts", event{Title: "kept"})
	require.Eventually(t, func() bool { return relay.status(t, "alerts").State.Reason == "invalid_auth" }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(1), relay.status(t, "alerts").Ledger.Pending)
	status, answer := request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
	require.Equal(t, http.StatusOK, status, "webhooks are still taken in")
	require.JSONEq(t, `{"status":"degraded","reasons":["Slack refuses the token of channel alerts, whose messages are kept: it is not known to Slack; `+
		`copy the Bot User OAuth Token again, completely"]}`, string(answer))
}

func TestIncomingWebhookRetriesAndBuries(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, "RELAY_REDIS_URL="+redis.URL, "RELAY_CHANNEL_DEFAULT_SLACK_WEBHOOK_URL="+slack.WebhookURL("B0HOOK", "s3cret"),
		"RELAY_CHANNEL_DEFAULT_PACE=1ms")
	slack.Script("B0HOOK", fakeslack.Reply{Status: 429, RetryAfter: "1"}, fakeslack.Reply{},
		fakeslack.Reply{Status: 404, Body: "no_service"})
	relay.post(t, "default", []event{{Title: "posted"}, {Title: "refused"}})
	status := relay.drained(t, "default", 20*time.Second)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, status.Ledger)
	require.Len(t, slack.Posts(), 1)
	require.Contains(t, slack.Posts()[0].Text, "posted")
}
