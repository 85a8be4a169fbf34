package test

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

func TestRelayStartsWithoutRedisAndUsesItOnceItIsUp(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Reserve(t)
	relay := startRelay(t, fast(redis.URL, slack)...)
	status, answer := request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"status":"unavailable","reasons":[
		"Redis cannot be reached; check that Redis is running, its address, and the network",
		"channel alerts refuses webhooks without Redis (closed)","no channel accepts webhooks"]}`, string(answer))
	status, _ = request(t, http.MethodGet, relay.ops+"/healthz", "", nil)
	require.Equal(t, http.StatusOK, status, "a restart would not help")
	require.Equal(t, "0", relay.metric(t, "relay_redis_up"))
	requireUnavailable(t, relay, `{"title":"lost?","id":"1"}`)
	require.Empty(t, relay.metric(t, `relay_events_received_total{channel="alerts",source="generic"}`), "what was not stored is not counted")

	redis.Up()
	require.Eventually(t, func() bool {
		status, _ := request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
		return status == http.StatusOK
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 1, relay.post(t, "alerts", event{ID: "1", Title: "not lost"}).Admitted)
	require.Eventually(t, func() bool { return len(slack.Posts()) == 1 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "1", relay.metric(t, "relay_redis_up"))
}

// Redis has an append-only file.
func TestRestartOfRedisLosesNothing(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	relay := startRelay(t, fast(redis.URL, slack, "RELAY_CHANNEL_ALERTS_PACE=1s", "RELAY_CHANNEL_ALERTS_BURST=1",
		"RELAY_CHANNEL_ALERTS_ON_REDIS_DOWN=closed")...)
	receipt := relay.post(t, "alerts", []event{{Title: "a"}, {Title: "b"}, {Title: "c"}})
	require.Equal(t, 3, receipt.Admitted)
	redis.Kill()
	requireUnavailable(t, relay, `{"title":"d","id":"d"}`)
	redis.Up()
	require.Eventually(t, func() bool { return len(slack.Posts()) >= 3 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Delivered: 3}, relay.drained(t, "alerts", 10*time.Second).Ledger)
}

// proxy is between relay and Redis; while deaf, it forwards admissions and closes the connection before their reply.
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

// pump copies until either side closes or pass returns false.
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

// The connection is cut after the call: the sender gets 503 and repeats the events with their ids.
func TestRepeatAfterALostReplyIsADuplicate(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	proxy := startProxy(t, redis.Addr)
	relay := startRelay(t, fast("redis://"+proxy.listener.Addr().String(), slack)...)
	other := startRelay(t, fast(redis.URL, slack)...)
	require.Equal(t, 1, relay.post(t, "alerts", event{ID: "0", Title: "zero"}).Admitted)

	proxy.deaf.Store(true)
	requireUnavailable(t, relay, `[{"title":"one","id":"1"},{"title":"two","id":"2"}]`)
	proxy.deaf.Store(false)
	receipt := relay.post(t, "alerts", []event{{ID: "1", Title: "one"}, {ID: "2", Title: "two"}})
	require.Equal(t, 2, receipt.Duplicate, "the first call had committed")
	require.Zero(t, receipt.Admitted, "the first call had committed")
	status := other.drained(t, "alerts", 20*time.Second)
	require.Equal(t, store.Ledger{Received: 5, Admitted: 3, Duplicate: 2, Delivered: 3}, status.Ledger)
	require.Len(t, slack.Posts(), 3)
	require.Equal(t, int64(3), status.Levels[0].Used)
}

func TestCorruptedCounterShowsInTheMetric(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	relay := startRelay(t, fast(redis.URL, slack)...)
	relay.post(t, "alerts", event{Title: "x"})
	relay.drained(t, "alerts", 10*time.Second)
	require.Equal(t, "0", relay.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
	require.NoError(t, redis.Client().HIncrBy(t.Context(), "relay:{alerts}:ledger:alerts", "delivered", 3).Err())
	require.Equal(t, "3", relay.metric(t, `relay_ledger_imbalance{channel="alerts"}`))
}
