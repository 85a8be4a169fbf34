package test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
)

// The error has the setting, its value without secrets, the fault and the remedy.
func TestMisconfiguredRedisEndsTheStart(t *testing.T) {
	t.Parallel()
	locked, plain := redistest.Start(t, "--requirepass", "right-secret"), redistest.Start(t)
	encrypted, _ := redistest.StartTLS(t)
	cluster := redistest.StartCluster(t, 0)
	require.NoError(t, plain.Client().Do(t.Context(), "acl", "setuser", "weak", "on", ">weak-secret", "~relay:*", "+@all", "-evalsha",
		"-eval").Err())
	require.NoError(t, plain.Client().Do(t.Context(), "acl", "setuser", "blind", "on", ">blind-secret", "~relay:*", "+@all", "-info").Err())
	other := "" // a node that does not have the keys of the probe
	for _, node := range cluster.Nodes {
		if owner, _ := cluster.Owner("relay:{probe}:zset"); node != owner {
			other = node.Addr
		}
	}
	for name, c := range map[string]struct {
		env      []string
		contains []string
	}{
		"wrong password": {
			[]string{"RELAY_REDIS_URL=redis://:wrong-secret@" + locked.Addr + "/0"},
			[]string{
				"redis_url: redis://" + locked.Addr + "/0: Redis refuses the user or the password; correct redis_username and redis_password",
				"WRONGPASS",
			},
		},
		"no password": {
			[]string{"RELAY_REDIS_URL=redis://" + locked.Addr + "/0"},
			[]string{"Redis refuses the user or the password", "NOAUTH"},
		},
		"addrs, wrong user": {[]string{
			"RELAY_REDIS_ADDRS=" + locked.Addr, "RELAY_REDIS_USERNAME=nobody",
			"RELAY_REDIS_PASSWORD=wrong-secret",
		}, []string{"redis_addrs: " + locked.Addr + ": Redis refuses the user"}},
		"may not ask": {
			[]string{"RELAY_REDIS_URL=redis://blind:blind-secret@" + plain.Addr},
			[]string{"Redis does not allow this user a command or a key; grant the user the rights", "NOPERM"},
		},
		"may not script": {
			[]string{"RELAY_REDIS_URL=redis://weak:weak-secret@" + plain.Addr},
			[]string{"Redis does not allow this user a command or a key", "it runs no scripts for this user"},
		},
		"untrusted": {
			[]string{"RELAY_REDIS_URL=" + encrypted.URL},
			[]string{"redis_url: " + encrypted.URL + "/0: the TLS connection to Redis fails; set SSL_CERT_FILE", "x509"},
		},
		"database": {
			[]string{"RELAY_REDIS_URL=redis://" + plain.Addr + "/99"},
			[]string{"redis_url: redis://" + plain.Addr + "/99: Redis has no database with this number"},
		},
		"no cluster": {
			[]string{"RELAY_REDIS_ADDRS=" + plain.Addr, "RELAY_REDIS_CLUSTER=true"},
			[]string{"redis_addrs: " + plain.Addr + " (Cluster): Redis is not a Cluster"},
		},
		"a cluster": {
			[]string{"RELAY_REDIS_URL=redis://" + other},
			[]string{"Redis is a Cluster and keeps the keys on another node; set redis_cluster"},
		},
		"database, cluster": {[]string{"RELAY_REDIS_URL=redis://" + other + "/1"}, []string{"Redis has no database with this number"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stderr, code := runRelay(t, append([]string{"RELAY_LISTEN=127.0.0.1:0", "RELAY_OPS_LISTEN=127.0.0.1:0", "RELAY_REPLICAS=1"},
				c.env...), "serve")
			require.Equal(t, 2, code, stderr)
			for _, text := range c.contains {
				require.Contains(t, stderr, text)
			}
			require.NotContains(t, stderr, "-secret")
			require.NotContains(t, stderr, "relay started")
		})
	}
}

// The relay starts, reports what it waits for, and uses Redis once it is available.
func TestUnavailableRedisIsAnOutageAtStart(t *testing.T) {
	t.Parallel()
	starts := func(t *testing.T, url, kind, why string) *process {
		t.Helper()
		relay := startRelay(t, fast(url, startSlack(t), "RELAY_REPLICAS=1")...)
		require.Regexp(t, `"msg":"redis unavailable at start".*"why":"`+why, relay.output.String())
		status, answer := request(t, http.MethodPost, relay.public+"/hooks/alerts", "", []byte(`{"title":"x"}`))
		for n := 0; status != http.StatusAccepted && n < 5; n++ { // the first calls may have an unknown outcome
			status, answer = request(t, http.MethodPost, relay.public+"/hooks/alerts", "", []byte(`{"title":"x"}`))
		}
		require.Contains(t, string(answer), `"durable":false`)
		require.NotEqual(t, "0", relay.metric(t, `relay_redis_errors_total{kind="`+kind+`"}`))
		return relay
	}
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		starts(t, redistest.Reserve(t).URL, "unreachable", "Redis cannot be reached; check that Redis is running")
	})
	t.Run("loading", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "--key-load-delay", "3000", "--loading-process-events-interval-bytes", "1024")
		for i := range 2000 { // 6 s
			require.NoError(t, server.Client().Set(t.Context(), fmt.Sprint("key", i), strings.Repeat("x", 100), 0).Err())
		}
		require.NoError(t, server.Client().Save(t.Context()).Err())
		server.Kill()
		loaded := make(chan struct{})
		go func() {
			defer close(loaded)
			server.Up()
		}()
		defer func() { <-loaded }()
		client := server.Client()
		require.Eventually(t, func() bool {
			err := client.Get(t.Context(), "key0").Err()
			return err != nil && strings.HasPrefix(err.Error(), "LOADING")
		}, 10*time.Second, time.Millisecond)
		relay := starts(t, server.URL, "loading", "Redis is loading its data; wait until it is loaded")
		faulty{server, relay}.serves(t)
	})
}

// faulty is a relay whose Redis starts to refuse calls.
type faulty struct {
	server *redistest.Server
	relay  *process
}

func startFaulty(t *testing.T, policy string, args ...string) faulty {
	t.Helper()
	server := redistest.Start(t, args...)
	relay := startRelay(t, fast(server.URL, startSlack(t), "RELAY_REPLICAS=1", "RELAY_CHANNEL_ALERTS_ON_REDIS_DOWN="+policy)...)
	require.True(t, relay.post(t, "alerts", event{Title: "stored"}).Durable)
	relay.drained(t, "alerts", 10*time.Second)
	return faulty{server, relay}
}

// reports waits until sender, probe, metric, log and terminal all show why Redis fails.
func (f faulty) reports(t *testing.T, kind, what, remedy string) {
	t.Helper()
	n := 0
	refused := func() bool {
		n++
		status, answer := request(t, http.MethodPost, f.relay.public+"/hooks/alerts", "",
			fmt.Appendf(nil, `{"title":"x","id":"%s-%d","category":"written-by-a-sender"}`, kind, n))
		return status == http.StatusServiceUnavailable &&
			strings.Contains(string(answer), what+", so not all events were stored; send the request again")
	}
	require.Eventually(t, refused, 20*time.Second, 10*time.Millisecond)
	var answer []byte
	require.Eventually(t, func() bool {
		refused()
		_, answer = request(t, http.MethodGet, f.relay.ops+"/readyz", "", nil)
		return strings.Contains(string(answer), what) && strings.Contains(string(answer), remedy)
	}, 10*time.Second, 10*time.Millisecond)
	require.NotContains(t, string(answer), "cannot be reached")
	require.NotContains(t, string(answer), "written-by-a-sender")
	require.Contains(t, string(answer), "channel alerts refuses webhooks without Redis (closed)")
	require.NotEqual(t, "0", f.relay.metric(t, `relay_redis_errors_total{kind="`+kind+`"}`))
	if kind != "auth" { // that test closes connections
		require.Equal(t, "0", f.relay.metric(t, `relay_redis_errors_total{kind="unreachable"}`))
	}
	f.relay.logs(t, `"msg":"going on without Redis"`)
	require.Regexp(t, `"msg":"going on without Redis".*"why":"[^"]*`+remedy, f.relay.output.String())
	stdout, _, _ := runRelay(t, []string{"RELAY_CHANNELS=alerts"}, "status", "--ops-url", f.relay.ops)
	require.Contains(t, stdout, what)
	require.Contains(t, stdout, remedy)
	require.NotContains(t, stdout, "send the request again")
}

// serves waits until Redis serves again.
func (f faulty) serves(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, answer := request(t, http.MethodGet, f.relay.ops+"/readyz", "", nil)
		return string(answer) == `{"status":"ok","reasons":[]}`+"\n"
	}, 30*time.Second, 10*time.Millisecond)
	require.True(t, f.relay.post(t, "alerts", event{Title: "again"}).Durable)
}

// Redis "cannot be reached" only where it cannot.
func TestRefusalsOfRedisAreReportedAsSuch(t *testing.T) {
	t.Parallel()
	set := func(t *testing.T, f faulty, name, value string) {
		t.Helper()
		require.NoError(t, f.server.Client().ConfigSet(t.Context(), name, value).Err())
	}
	t.Run("no memory", func(t *testing.T) {
		t.Parallel()
		f := startFaulty(t, "closed")
		set(t, f, "maxmemory", "1")
		f.reports(t, "memory", "Redis refuses writes: out of memory (maxmemory)", "raise maxmemory")
		f.relay.logs(t, `"msg":"redis unavailable","kind":"memory"`)
		set(t, f, "maxmemory", "0")
		f.serves(t)
		f.relay.logs(t, `"msg":"redis available again"`)
	})
	t.Run("no disk", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "gone")
		require.NoError(t, os.Mkdir(dir, 0o755))
		f := startFaulty(t, "closed", "--dir", dir, "--save", "100000 1000")
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, f.server.Client().BgSave(t.Context()).Err())
		f.reports(t, "disk", "Redis refuses writes: it cannot save its data to disk", "check the disk")
		set(t, f, "stop-writes-on-bgsave-error", "no")
		f.serves(t)
	})
	t.Run("a replica now", func(t *testing.T) {
		t.Parallel()
		f := startFaulty(t, "closed")
		host, port, _ := strings.Cut(redistest.Start(t).Addr, ":")
		require.NoError(t, f.server.Client().ReplicaOf(t.Context(), host, port).Err())
		f.reports(t, "read_only", "Redis refuses writes: this server is a read-only replica", "set the master")
		require.NoError(t, f.server.Client().ReplicaOf(t.Context(), "no", "one").Err())
		f.serves(t)
	})
	t.Run("no rights any more", func(t *testing.T) {
		t.Parallel()
		f := startFaulty(t, "closed")
		rights := func(right string) {
			require.NoError(t, f.server.Client().Do(t.Context(), "acl", "setuser", "default", right).Err())
		}
		rights("-zadd")
		f.reports(t, "permission", "Redis does not allow this user a command or a key", "grant the user the rights")
		rights("+zadd")
		f.serves(t)
	})
	t.Run("another password", func(t *testing.T) {
		t.Parallel()
		f := startFaulty(t, "closed")
		conn := f.server.Client().Conn()
		defer conn.Close()
		require.NoError(t, conn.Do(t.Context(), "acl", "setuser", "default", "resetpass", ">another").Err())
		require.NoError(t, conn.Do(t.Context(), "client", "kill", "type", "normal", "skipme", "yes").Err())
		f.reports(t, "auth", "Redis refuses the user or the password", "correct redis_username and redis_password")
		require.NoError(t, conn.Do(t.Context(), "acl", "setuser", "default", "nopass").Err())
		f.serves(t)
	})
	t.Run("another type", func(t *testing.T) {
		t.Parallel()
		f := startFaulty(t, "closed")
		const key = "relay:{alerts}:limit:sliding-log:channel"
		require.NoError(t, f.server.Client().Del(t.Context(), key).Err())
		require.NoError(t, f.server.Client().Set(t.Context(), key, "somebody's", 0).Err())
		f.reports(t, "wrong_type", "a key in Redis has another type than the relay expects", "find out which program wrote the key")
		require.NoError(t, f.server.Client().Del(t.Context(), key).Err())
		f.serves(t)
	})
}

// The channel follows its policy.
func TestPasswordThatStopsWorkingIsAnOutage(t *testing.T) {
	t.Parallel()
	f := startFaulty(t, "local")
	conn := f.server.Client().Conn()
	defer conn.Close()
	require.NoError(t, conn.Do(t.Context(), "acl", "setuser", "default", "resetpass", ">another").Err())
	require.NoError(t, conn.Do(t.Context(), "client", "kill", "type", "normal", "skipme", "yes").Err())
	require.Eventually(t, func() bool {
		status, answer := request(t, http.MethodPost, f.relay.public+"/hooks/alerts", "", []byte(`{"title":"x"}`))
		return status == http.StatusAccepted && strings.Contains(string(answer), `"durable":false`)
	}, 10*time.Second, 10*time.Millisecond)
	_, answer := request(t, http.MethodGet, f.relay.ops+"/readyz", "", nil)
	require.Contains(t, string(answer), "Redis refuses the user or the password; correct redis_username")
	require.Contains(t, string(answer), "channel alerts continues without Redis (local)")
	require.NoError(t, conn.Do(t.Context(), "acl", "setuser", "default", "nopass").Err())
	f.serves(t)
}

// It shows nothing that senders wrote.
func TestStatusInAnOutageNamesTheFaultAndTheRemedy(t *testing.T) {
	t.Parallel()
	redis := redistest.Reserve(t)
	relay := startRelay(t, fast(redis.URL, startSlack(t))...)
	for _, args := range [][]string{{"status"}, {"status", "--channel", "alerts"}, {"status", "--json"}} {
		stdout, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=alerts"}, append(args, "--ops-url", relay.ops)...)
		require.Equal(t, 1, code)
		require.Contains(t, stdout, "Redis cannot be reached; check that Redis is running, its address, and the network")
		require.Contains(t, stdout, "channel alerts refuses webhooks without Redis (closed)")
		require.Contains(t, stderr, "Redis cannot be reached; check that Redis is running, its address, and the network: "+
			"the data could not be read from Redis")
		require.NotContains(t, stdout+stderr, "send the request again")
	}
	_, stderr, _ := runRelay(t, []string{"RELAY_CHANNELS=alerts", "RELAY_ADMIN_TOKEN=x"}, "silence", "list", "--ops-url", relay.ops)
	require.Contains(t, stderr, "the data could not be read from Redis; the last known silences stay in effect")
	require.Contains(t, relay.output.String(), `"redis":"`+redis.URL+`/0"`, "the log of the start names Redis")
}

// relay check --redis finds a Redis that the relay could not use, so that an upgrade can stop before it replaces anything.
func TestCheckConnectsToRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "pw")
	_, stderr, code := runRelay(t, []string{"RELAY_REDIS_URL=" + server.URL, "RELAY_REDIS_PASSWORD=pw"}, "check", "--redis")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stderr, "Redis at "+server.URL+"/0 suits the relay")
	require.Contains(t, stderr, "warning: Redis: ", "it has no append-only file")
	for fault, variables := range map[string][]string{
		"redis_url: " + server.URL + "/0: ":                 {"RELAY_REDIS_URL=" + server.URL, "RELAY_REDIS_PASSWORD=wrong"},
		"redis_addrs: 127.0.0.1:1: Redis cannot be reached": {"RELAY_REDIS_ADDRS=127.0.0.1:1"},
	} {
		_, stderr, code = runRelay(t, variables, "check", "--redis")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, fault)
	}
	_, stderr, code = runRelay(t, nil, "check", "--redis")
	require.Equal(t, 0, code)
	require.Contains(t, stderr, "no Redis is configured")
}
