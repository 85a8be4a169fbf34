package main_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
	"slackrelay/store"
)

func requireUnavailable(t *testing.T, relay *process, body string) {
	t.Helper()
	response, err := client.Post(relay.public+"/hooks/alerts", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, "%s", answer)
	require.Equal(t, "5", response.Header.Get("Retry-After"))
	require.Contains(t, string(answer), `"code":"unavailable"`)
}

func TestRedisDownAtStartAndBack(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Reserve(t)
	relay := startRelay(t, fast(redis.URL, slack)...)
	status, answer := request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"status":"unavailable","reasons":[
		"Redis cannot be reached; check that Redis is running, its address, and the network",
		"channel alerts refuses webhooks without Redis (closed)","no channel can take anything in"]}`, string(answer))
	status, _ = request(t, http.MethodGet, relay.ops+"/healthz", "", nil)
	require.Equal(t, http.StatusOK, status, "a restart would mend nothing")
	require.Equal(t, "0", relay.metric(t, "relay_redis_up"))
	requireUnavailable(t, relay, `{"title":"lost?","id":"1"}`)
	require.Empty(t, relay.metric(t, `relay_events_received_total{channel="alerts",source="generic"}`), "what was not stored is not counted")

	redis.Up()
	require.Eventually(t, func() bool {
		status, _ := request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
		return status == http.StatusOK
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 1, relay.take(t, "alerts", event{ID: "1", Title: "not lost"}).Admitted)
	relay.settled(t, "alerts", 10*time.Second)
	require.Len(t, slack.Posts(), 1)
	require.Equal(t, "1", relay.metric(t, "relay_redis_up"))
}

// A Redis with an append-only file that dies and comes back keeps what was admitted.
func TestRedisRestartLosesNothing(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_PACE=1s", "RELAY_CHANNEL_ALERTS_BURST=1",
		"RELAY_CHANNEL_ALERTS_ON_REDIS_DOWN=closed")...)
	receipt := relay.take(t, "alerts", []event{{Title: "a"}, {Title: "b"}, {Title: "c"}})
	require.Equal(t, 3, receipt.Admitted)
	redis.Kill()
	requireUnavailable(t, relay, `{"title":"d","id":"d"}`)
	redis.Up()
	require.Eventually(t, func() bool { return len(slack.Posts()) >= 3 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 3}, relay.settled(t, "alerts", 10*time.Second).Ledger)
}

// proxy stands between relay and Redis; when deaf, it hands admissions on and cuts the line before their
// answer.
type proxy struct {
	listener net.Listener
	target   string
	deaf     atomic.Bool
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, target: target}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return p
}

func (p *proxy) serve(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer to.Close()
	var cut atomic.Bool
	go pump(from, to, func(call []byte) bool {
		if p.deaf.Load() && bytes.Contains(call, []byte(":seen:")) {
			cut.Store(true)
		}
		return true
	})
	pump(to, from, func([]byte) bool { return !cut.Load() })
}

// pump copies what comes until either side ends or pass refuses it.
func pump(from, to net.Conn, pass func(data []byte) bool) {
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !pass(buffer[:n]) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// The connection is cut after the call: the sender is told 503, and its repeat with ids is free.
func TestCutAfterTheCall(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	proxy := startProxy(t, redis.Addr)
	relay := startRelay(t, fast("redis://"+proxy.listener.Addr().String(), slack)...)
	other := startRelay(t, fast(redis.URL, slack)...)
	require.Equal(t, 1, relay.take(t, "alerts", event{ID: "0", Title: "zero"}).Admitted)

	proxy.deaf.Store(true)
	requireUnavailable(t, relay, `[{"title":"one","id":"1"},{"title":"two","id":"2"}]`)
	proxy.deaf.Store(false)
	receipt := relay.take(t, "alerts", []event{{ID: "1", Title: "one"}, {ID: "2", Title: "two"}})
	require.Equal(t, []int{2, 0}, []int{receipt.Duplicate, receipt.Admitted}, "the first call had committed")
	status := other.settled(t, "alerts", 20*time.Second)
	require.Equal(t, store.Ledger{Received: 5, Admitted: 3, Duplicate: 2, Delivered: 3}, status.Ledger)
	require.Len(t, slack.Posts(), 3)
	require.Equal(t, int64(3), status.Levels[0].Used)
}

func TestACorruptedCounterShowsInTheMetric(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack)...)
	relay.take(t, "alerts", event{Title: "x"})
	relay.settled(t, "alerts", 10*time.Second)
	require.Equal(t, "0", relay.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
	require.NoError(t, redis.Client().HIncrBy(t.Context(), "relay:{alerts}:ledger:alerts", "delivered", 3).Err())
	require.Equal(t, "3", relay.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
}

// Slack says 429: only that channel waits, nothing is lost and nothing is sent twice.
func TestSlackSays429(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNELS=alerts,other", "RELAY_CHANNEL_OTHER_SLACK_CHANNEL=C0OTHER")...)
	slack.Script("C0ALERTS", fakeslack.Reply{Status: 429, RetryAfter: "5"})
	relay.take(t, "alerts", []event{{Title: "first"}, {Title: "second"}})
	require.Eventually(t, func() bool {
		return relay.status(t, "alerts").State.Reason == "rate_limited"
	}, 10*time.Second, 5*time.Millisecond)
	require.NotNil(t, relay.status(t, "alerts").State.PausedUntil)
	require.Equal(t, "1", relay.metric(t, `relay_channel_paused{channel="alerts",reason="rate_limited"}`))
	relay.take(t, "other", event{Title: "not held up"})
	relay.settled(t, "other", 4*time.Second)
	require.Equal(t, int64(2), relay.status(t, "alerts").Ledger.Pending, "still waiting")

	relay.settled(t, "alerts", 20*time.Second)
	var alerts []string
	for _, post := range slack.Posts() {
		if post.Channel == "C0ALERTS" {
			alerts = append(alerts, post.Text)
		}
	}
	require.Len(t, alerts, 2)
	require.Contains(t, alerts[0], "first", "the order is kept")
}

// Slack is away for a while: backed off, nothing lost. What it refuses for good is buried.
func TestSlackFailsAndRefuses(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack)...)
	slack.Script("C0ALERTS",
		fakeslack.Reply{Status: 500, Body: "oops"},
		fakeslack.Reply{Cut: true},
		fakeslack.Reply{}, // the first message gets through
		fakeslack.APIError("is_archived"),
	)
	relay.take(t, "alerts", []event{{Title: "first"}, {Title: "refused"}, {Title: "third"}})
	status := relay.settled(t, "alerts", 30*time.Second)
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 2, Failed: 1}, status.Ledger)
	require.Equal(t, "1", relay.metric(t, `relay_messages_total{channel="alerts",result="retried"}`))
	require.Equal(t, "1", relay.metric(t, `relay_messages_total{channel="alerts",result="unknown"}`), "it was looked up before it was sent again")
	require.Equal(t, "1", relay.metric(t, `relay_messages_total{channel="alerts",result="failed"}`))
	dead := redis.Client().XRange(t.Context(), "relay:{alerts}:dead:alerts", "-", "+").Val()
	require.Len(t, dead, 1)
	require.Equal(t, "is_archived", dead[0].Values["reason"])
	require.Contains(t, dead[0].Values["entry"], `"title":"refused"`)
}

// A message that Slack answers in no known way gets three attempts in its place; the next one then goes on.
func TestAMessageThatMayBeAtFault(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack)...)
	strange := fakeslack.APIError("never_heard_of")
	slack.Script("C0ALERTS", strange, strange, strange)
	relay.take(t, "alerts", []event{{Title: "strange"}, {Title: "next"}})
	status := relay.settled(t, "alerts", 30*time.Second)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, status.Ledger)
	require.Equal(t, 4, slack.Requests())
}

// A revoked token stops the channel and keeps the messages.
func TestARevokedToken(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	slack.Token = "xoxb-other"
	relay := startRelay(t, fast(redis.URL, slack)...)
	relay.take(t, "alerts", event{Title: "kept"})
	require.Eventually(t, func() bool { return relay.status(t, "alerts").State.Reason == "invalid_auth" }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(1), relay.status(t, "alerts").Ledger.Pending)
	status, answer := request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
	require.Equal(t, http.StatusOK, status, "webhooks are still taken in")
	require.JSONEq(t, `{"status":"degraded","reasons":["channel alerts is paused: invalid_auth"]}`, string(answer))
}

func TestIncomingWebhook(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, "RELAY_REDIS_URL="+redis.URL, "RELAY_CHANNEL_DEFAULT_SLACK_WEBHOOK_URL="+slack.WebhookURL("B0HOOK", "s3cret"),
		"RELAY_CHANNEL_DEFAULT_PACE=1ms")
	slack.Script("B0HOOK", fakeslack.Reply{Status: 429, RetryAfter: "1"}, fakeslack.Reply{},
		fakeslack.Reply{Status: 404, Body: "no_service"})
	relay.take(t, "default", []event{{Title: "posted"}, {Title: "refused"}})
	status := relay.settled(t, "default", 20*time.Second)
	require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Delivered: 1, Failed: 1}, status.Ledger)
	require.Len(t, slack.Posts(), 1)
	require.Contains(t, slack.Posts()[0].Text, "posted")
}

// No secret reaches a log, a metric, an error or the API, whatever goes wrong.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const token, ingress, hook, password = "xoxb-very-secret", "ingress-very-secret", "hook-very-secret", "redis-very-secret"
	const admin = "admin-very-secret"
	slack, redis := startSlack(t), redistest.Start(t, "--requirepass", password)
	relay := startRelay(t, fast("redis://:"+password+"@"+redis.Addr, slack,
		"RELAY_SLACK_TOKEN="+token, "RELAY_CHANNELS=alerts,hook,gone", "RELAY_CHANNEL_HOOK_ON_REDIS_DOWN=closed", "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN="+ingress,
		"RELAY_CHANNEL_HOOK_SLACK_WEBHOOK_URL="+slack.WebhookURL("B0", hook), "RELAY_ADMIN_TOKEN="+admin,
		"RELAY_CHANNEL_HOOK_FALLBACK_WEBHOOK_URL=http://127.0.0.1:1/services/T0/B2/"+hook,
		"RELAY_OPERATIONS_WEBHOOK_URL=http://127.0.0.1:1/"+hook, "RELAY_CANARY_INTERVAL=1s", "RELAY_CANARY_WITHIN=1s", "RELAY_CANARY_WEBHOOK_URL=http://127.0.0.1:1/"+hook,
		"RELAY_CHANNEL_GONE_SLACK_WEBHOOK_URL=http://127.0.0.1:1/services/T0/B1/"+hook)...)
	slack.Script("C0ALERTS", fakeslack.Reply{Cut: true}, fakeslack.APIError("token_revoked"))
	slack.Script("B0", fakeslack.Reply{Cut: true}, fakeslack.Reply{Status: 403, Body: "invalid_token"})
	var said []string
	status, answer := request(t, http.MethodPost, relay.public+"/hooks/alerts", "wrong", []byte(`{"title":"x"}`))
	require.Equal(t, http.StatusUnauthorized, status)
	said = append(said, string(answer))
	status, answer = request(t, http.MethodPost, relay.public+"/hooks/alerts", ingress, []byte(`{"title":"x"}`))
	require.Equal(t, http.StatusAccepted, status)
	said = append(said, string(answer))
	for path, want := range map[string]int{
		"/services/alerts/" + ingress: http.StatusOK, "/services/alerts/wrong-" + ingress: http.StatusForbidden, "/services/nowhere/" + ingress: http.StatusNotFound,
		"/hooks/alerts?token=" + ingress: http.StatusUnauthorized, "/api/chat.postMessage?channel=alerts&token=" + ingress: http.StatusOK,
	} {
		status, answer = request(t, http.MethodPost, relay.public+path, "", []byte(`{"text":"y"}`))
		require.Equal(t, want, status, path)
		said = append(said, string(answer))
	}
	relay.take(t, "hook", event{Title: "x"})
	relay.take(t, "gone", event{Title: "x"})
	relay.says(t, "The canary of ")
	relay.settled(t, "hook", 10*time.Second)
	require.Eventually(t, func() bool {
		return relay.status(t, "alerts").State.Reason == "token_revoked" && relay.status(t, "gone").State.Reason == "network"
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
	for _, path := range []string{"/readyz", "/metrics", "/api/v1/channels", "/api/v1/channels/alerts", "/api/v1/channels/hook/dead", "/api/v1/channels/hook/drops", "/api/v1/config", "/api/v1/silences", "/api/v1/channels/~canary"} {
		_, answer := request(t, http.MethodGet, relay.ops+path, "", nil)
		said = append(said, string(answer))
	}
	relay.stop()
	check, errors, _ := runRelay(t, relay.cmd.Env, "check")
	require.Contains(t, check, "ingress_token: '********'")
	said = append(said, check, errors, relay.output.String())
	for _, text := range said {
		require.NotContains(t, text, "very-secret")
	}
	require.Contains(t, relay.output.String(), "token_revoked", "the log has said what went wrong")
}
