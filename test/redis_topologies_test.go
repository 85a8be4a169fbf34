package test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
)

func TestMessagesAreDeliveredOnEveryTopology(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) []string{
		"TLS": func(t *testing.T) []string {
			t.Helper()
			server, certificate := redistest.StartTLS(t)
			return []string{"RELAY_REDIS_URL=" + server.URL, "SSL_CERT_FILE=" + certificate}
		},
		"TLS with a client certificate": func(t *testing.T) []string {
			t.Helper()
			server, certificate := redistest.StartTLS(t, "--tls-auth-clients", "yes")
			return []string{
				"RELAY_REDIS_ADDRS=" + server.Addr, "RELAY_REDIS_TLS=true", "RELAY_REDIS_CA_FILE=" + certificate,
				"RELAY_REDIS_CERT_FILE=" + certificate, "RELAY_REDIS_KEY_FILE=" + filepath.Join(filepath.Dir(certificate), "key.pem"),
			}
		},
		"password": func(t *testing.T) []string {
			t.Helper()
			server := redistest.Start(t, "--requirepass", "pw")
			return []string{"RELAY_REDIS_ADDRS=" + server.Addr, "RELAY_REDIS_PASSWORD=pw"}
		},
		"Sentinel": func(t *testing.T) []string {
			t.Helper()
			sentinels := redistest.StartSentinels(t)
			return []string{
				"RELAY_REDIS_ADDRS=" + strings.Join(sentinels.Addrs, ","), "RELAY_REDIS_MASTER_NAME=" + sentinels.Name,
				"RELAY_REDIS_WAIT_REPLICAS=1",
			}
		},
		"Cluster": func(t *testing.T) []string {
			t.Helper()
			return []string{"RELAY_REDIS_ADDRS=" + strings.Join(redistest.StartCluster(t, 0).Addrs(), ","), "RELAY_REDIS_CLUSTER=true"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack := startSlack(t)
			relay := startRelay(t, append(fast("", slack), start(t)...)...)
			receipt := relay.post(t, "alerts", []event{{Title: "a"}, {Title: "b"}})
			require.Equal(t, 2, receipt.Admitted)
			require.True(t, receipt.Durable)
			relay.drained(t, "alerts", 10*time.Second)
			require.Len(t, slack.Posts(), 2)
			require.Equal(t, "1", relay.metric(t, "relay_redis_up"))
			require.Equal(t, 0, relay.stop(), "%s", relay.output)
		})
	}
}

func TestUnsuitableRedisEndsTheStart(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	host, port, _ := strings.Cut(master.Addr, ":")
	replica := redistest.Start(t, "--replicaof", host+" "+port)
	_, stderr, code := runRelay(t, []string{"RELAY_REDIS_URL=" + replica.URL, "RELAY_LISTEN=127.0.0.1:0", "RELAY_OPS_LISTEN=127.0.0.1:0"},
		"serve")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "redis_url: "+replica.URL+"/0: ")
	require.Contains(t, stderr, "it is a replica, which cannot be written to; name the master, or the Sentinels")
	relay := startRelay(t, fast(master.URL, startSlack(t))...)
	require.NotContains(t, relay.output.String(), "append-only file", "the master has a replica")
	relay = startRelay(t, fast(redistest.Start(t, "--maxmemory-policy", "volatile-lru").URL, startSlack(t))...)
	require.Contains(t, relay.output.String(), "maxmemory-policy is volatile-lru")
	require.Contains(t, relay.output.String(), "neither an append-only file nor a replica")
	status, _ := request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
	require.Equal(t, http.StatusOK, status)
}

func TestWebhookOfTwentyAlertsTakesOneScriptCall(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "10000")
	relay := startRelay(t, fast(server.URL, startSlack(t))...)
	relay.post(t, "alerts", event{Title: "so that the script is known"})
	admissions := func() (n int) {
		for _, entry := range server.Client().SlowLogGet(t.Context(), 10_000).Val() {
			if len(entry.Args) > 1 && entry.Args[0] == "evalsha" && entry.Args[1] == lua.Admit.Hash() {
				n++
			}
		}
		return n
	}
	before := admissions()
	var alerts []map[string]any
	for i := range 20 {
		alerts = append(alerts, map[string]any{
			"status": "firing", "fingerprint": fmt.Sprintf("%016x", i), "startsAt": "2026-11-20T08:00:00Z",
			"labels": map[string]string{"alertname": fmt.Sprint("Alert", i%4), "severity": "warning"},
		})
	}
	receipt := relay.post(t, "alerts/alertmanager", map[string]any{
		"version": "4", "groupKey": "{}", "receiver": "relay", "status": "firing", "alerts": alerts,
	})
	require.Equal(t, 20, receipt.Received)
	require.Equal(t, 1, admissions()-before)
}
