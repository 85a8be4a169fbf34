package test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
)

// No secret reaches a log, a metric, an error or the API, whatever fails.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const token, ingress, hook, password = "xoxb-very-secret", "ingress-very-secret", "hook-very-secret", "redis-very-secret"
	const admin = "admin-very-secret"
	slack, redis := startSlack(t), redistest.Start(t, "--requirepass", password)
	relay := startRelay(t, fast("redis://:"+password+"@"+redis.Addr, slack,
		"RELAY_SLACK_TOKEN="+token, "RELAY_CHANNELS=alerts,hook,gone,own,filed", "RELAY_CHANNEL_OWN_SLACK_CHANNEL=C0OWN",
		"RELAY_CHANNEL_OWN_SLACK_TOKEN=xoxb-own-very-secret", "RELAY_CHANNEL_FILED_SLACK_CHANNEL=C0FILED",
		"RELAY_CHANNEL_FILED_SLACK_TOKEN_FILE="+configFile(t, "xoxb-filed-very-secret"), "RELAY_CHANNEL_HOOK_ON_REDIS_DOWN=closed",
		"RELAY_CHANNEL_ALERTS_INGRESS_TOKEN="+ingress,
		"RELAY_CHANNEL_HOOK_SLACK_WEBHOOK_URL="+slack.WebhookURL("B0", hook), "RELAY_ADMIN_TOKEN="+admin,
		"RELAY_CHANNEL_HOOK_FALLBACK_WEBHOOK_URL=http://127.0.0.1:1/services/T0/B2/"+hook,
		"RELAY_OPERATIONS_WEBHOOK_URL=http://127.0.0.1:1/"+hook, "RELAY_CANARY_INTERVAL=1s", "RELAY_CANARY_WITHIN=1s",
		"RELAY_CANARY_WEBHOOK_URL=http://127.0.0.1:1/"+hook,
		"RELAY_CHANNEL_GONE_SLACK_WEBHOOK_URL=http://127.0.0.1:1/services/T0/B1/"+hook)...)
	slack.Script("C0ALERTS", fakeslack.Reply{Cut: true}, fakeslack.APIError("token_revoked"))
	slack.Script("C0OWN", fakeslack.APIError("invalid_auth"))
	slack.Script("C0FILED", fakeslack.Reply{Cut: true})
	slack.Script("B0", fakeslack.Reply{Cut: true}, fakeslack.Reply{Status: 403, Body: "invalid_token"})
	var said []string
	status, answer := request(t, http.MethodPost, relay.public+"/hooks/alerts", "wrong", []byte(`{"title":"x"}`))
	require.Equal(t, http.StatusUnauthorized, status)
	said = append(said, string(answer))
	status, answer = request(t, http.MethodPost, relay.public+"/hooks/alerts", ingress, []byte(`{"title":"x"}`))
	require.Equal(t, http.StatusAccepted, status)
	said = append(said, string(answer))
	for path, want := range map[string]int{
		"/services/alerts/" + ingress: http.StatusOK, "/services/alerts/wrong-" + ingress: http.StatusForbidden,
		"/services/nowhere/" + ingress:   http.StatusNotFound,
		"/hooks/alerts?token=" + ingress: http.StatusUnauthorized, "/api/chat.postMessage?channel=alerts&token=" + ingress: http.StatusOK,
	} {
		status, answer = request(t, http.MethodPost, relay.public+path, "", []byte(`{"text":"y"}`))
		require.Equal(t, want, status, path)
		said = append(said, string(answer))
	}
	doorBody := `{"content":"y","text":"y","message":"y","routing_key":"` + ingress + `","event_action":"trigger","payload":{"summary":"y"}}`
	for path, want := range map[string]int{
		"/api/webhooks/alerts/" + ingress: http.StatusNoContent, "/api/webhooks/alerts/wrong-" + ingress: http.StatusUnauthorized,
		"/webhookb2/alerts/" + ingress: http.StatusOK, "/workflows/alerts/triggers/manual/paths/invoke?sig=" + ingress: http.StatusAccepted,
		"/v1/spaces/alerts/messages?key=" + ingress + "&token=" + ingress: http.StatusOK, "/mattermost/hooks/" + ingress: http.StatusOK,
		"/mattermost/hooks/alerts/wrong-" + ingress: http.StatusUnauthorized, "/v2/enqueue": http.StatusAccepted,
		"/v2/enqueue?channel=hook": http.StatusAccepted,
	} {
		status, answer = request(t, http.MethodPost, relay.public+path, "", []byte(doorBody))
		require.Equal(t, want, status, path)
		said = append(said, string(answer))
	}
	relay.post(t, "hook", event{Title: "x"})
	relay.post(t, "gone", event{Title: "x"})
	relay.post(t, "own", event{Title: "x"})
	relay.post(t, "filed", event{Title: "x"})
	relay.logs(t, "The canary of ")
	relay.drained(t, "hook", 10*time.Second)
	require.Eventually(t, func() bool {
		return relay.status(t, "alerts").State.Reason == "token_revoked" && relay.status(t, "gone").State.Reason == "network" &&
			relay.status(t, "own").State.Reason == "invalid_auth"
	}, 10*time.Second, 10*time.Millisecond)
	for _, presented := range []string{"wrong", admin} {
		_, answer = request(t, http.MethodPost, relay.ops+"/api/v1/channels/hook/dead/1-1/replay", presented, nil)
		said = append(said, string(answer))
	}
	_, answer = request(t, http.MethodGet, relay.ops+"/api/v1/channels/hook/dead", admin, nil)
	require.Contains(t, string(answer), "invalid_token")
	said = append(said, string(answer))
	redis.Kill()
	status, answer = request(t, http.MethodPost, relay.public+"/hooks/hook", "", []byte(`{"title":"x"}`))
	require.Equal(t, http.StatusServiceUnavailable, status)
	said = append(said, string(answer))
	for _, path := range []string{
		"/readyz", "/metrics", "/api/v1/channels", "/api/v1/channels/alerts", "/api/v1/channels/own", "/api/v1/channels/filed", "/",
		"/api/v1/channels/hook/dead",
		"/api/v1/channels/hook/drops", "/api/v1/config", "/api/v1/silences", "/api/v1/channels/~canary",
	} {
		_, answer := request(t, http.MethodGet, relay.ops+path, "", nil)
		said = append(said, string(answer))
	}
	relay.stop()
	check, errors, _ := runRelay(t, relay.cmd.Env, "check", "--print")
	require.Contains(t, check, "ingress_token: '********'")
	said = append(said, check, errors, relay.output.String())
	for _, text := range said {
		require.NotContains(t, text, "very-secret")
	}
	require.Contains(t, relay.output.String(), "token_revoked", "the log has said what went wrong")
}
