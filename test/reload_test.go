package test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/server"
)

// configuration reads which configuration is in effect.
func (p *process) configuration(tb testing.TB) server.ConfigState {
	tb.Helper()
	status, answer := request(tb, http.MethodGet, p.ops+"/api/v1/config", "", nil)
	require.Equal(tb, http.StatusOK, status)
	var state server.ConfigState
	require.NoError(tb, json.Unmarshal(answer, &state))
	return state
}

// waitForChange waits until another configuration than the one with this hash is in effect.
func (p *process) waitForChange(tb testing.TB, other string) server.ConfigState {
	tb.Helper()
	require.Eventually(tb, func() bool { return p.configuration(tb).Hash != other }, 10*time.Second, 10*time.Millisecond)
	return p.configuration(tb)
}

func rewrite(tb testing.TB, path, text string) {
	tb.Helper()
	require.NoError(tb, os.WriteFile(path+".new", []byte(text), 0o600))
	require.NoError(tb, os.Rename(path+".new", path))
}

func configFile(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "relay.yaml")
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// channelFile is a configuration with a channel and more settings of it.
func channelFile(more string) string {
	return "channels:\n  - name: alerts\n    slack_channel: C0ALERTS\n    pace: 1ms\n    burst: 100\n    digest: false\n" + more
}

func withFile(redisURL, slack, path string) []string {
	return []string{"RELAY_CONFIG=" + path, "RELAY_REDIS_URL=" + redisURL, "RELAY_SLACK_TOKEN=xoxb-test", "RELAY_SLACK_API_URL=" + slack}
}

// The counts stay.
func TestChangedFileTakesEffectUnderTraffic(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]string{"redis": redistest.Start(t).URL, "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack, path := startSlack(t), configFile(t, channelFile("    category_limit: 2\n"))
			relay := startRelay(t, withFile(redis, slack.APIURL(), path)...)
			require.Equal(t, 2, relay.post(t, "alerts", []event{{Title: "1"}, {Title: "2"}, {Title: "3"}}).Admitted)
			before := relay.configuration(t)
			require.Equal(t, path, before.File)
			require.Equal(t, "1", relay.metric(t, `relay_config_info{hash="`+before.Hash+`"}`))

			rewrite(t, path, channelFile("    category_limit: 5\n    rules: [{name: quiet, match: [{field: title, is: hush}], mute: true}]\n")+
				"  - {name: other, slack_channel: C0OTHER}\n")
			after := relay.waitForChange(t, before.Hash)
			require.Nil(t, after.Reload)
			require.Equal(t, "1", relay.metric(t, `relay_config_info{hash="`+after.Hash+`"}`))
			require.Empty(t, relay.metric(t, `relay_config_info{hash="`+before.Hash+`"}`))
			require.Equal(t, "1", relay.metric(t, "relay_config_last_reload_successful"))
			receipt := relay.post(t, "alerts", []event{{Title: "4"}, {Title: "5"}, {Title: "6"}, {Title: "7"}, {Title: "hush"}})
			require.Equal(t, 3, receipt.Admitted, "2 of 5 were used")
			require.Equal(t, 1, receipt.Dropped, "2 of 5 were used")
			require.Equal(t, 1, receipt.Muted, "2 of 5 were used")
			require.Equal(t, 1, relay.post(t, "other", []event{{Title: "1"}}).Admitted)
			status := relay.drained(t, "alerts", 10*time.Second)
			require.Equal(t, int64(8), status.Ledger.Received)
			require.Equal(t, int64(5), status.Ledger.Admitted)
			require.Equal(t, int64(2), status.Ledger.Dropped)
			require.Equal(t, int64(1), status.Ledger.Muted)
			require.Equal(t, int64(5), status.Ledger.Delivered)
			require.Zero(t, status.Ledger.Imbalance())
			relay.drained(t, "other", 10*time.Second)
			require.Len(t, slack.Posts(), 6)

			rewrite(t, path, channelFile("    category_limit: 5\n"))
			relay.waitForChange(t, after.Hash)
			code, answer := request(t, http.MethodPost, relay.public+"/hooks/other", "", []byte(`{"title":"x"}`))
			require.Equal(t, http.StatusNotFound, code, "%s", answer)
			require.Equal(t, 0, relay.stop(), "%s", relay.output)
		})
	}
}

// Log, metric and API report it.
func TestInvalidFileChangesNothing(t *testing.T) {
	t.Parallel()
	slack, path := startSlack(t), configFile(t, channelFile("    category_limit: 2\n"))
	relay := startRelay(t, withFile("", slack.APIURL(), path)...)
	before := relay.configuration(t)
	rewrite(t, path, channelFile("    category_limit: 0\n    ingress_token: s3cret\n"+
		"    rules: [{name: r, match: [{field: colour, is: red}]}]\n"))
	require.Eventually(t, func() bool { return relay.configuration(t).Reload != nil }, 10*time.Second, 10*time.Millisecond)
	state := relay.configuration(t)
	require.Equal(t, before.Hash, state.Hash)
	require.Contains(t, state.Reload.Error, "category_limit: 0 is out of range; use 1 to 1000000")
	require.Contains(t, state.Reload.Error, `rules[0].match[0]: field "colour" is unknown`)
	require.NotContains(t, state.Reload.Error, "s3cret")
	relay.logs(t, "configuration rejected: the previous one stays in effect")
	require.Equal(t, "0", relay.metric(t, "relay_config_last_reload_successful"))
	code, answer := request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
	require.Equal(t, http.StatusOK, code, "it still serves")
	require.Contains(t, string(answer), "the new configuration is not valid")
	require.Equal(t, 1, relay.post(t, "alerts", event{Title: "taken without a token, as before"}).Admitted)

	rewrite(t, path, channelFile("    category_limit: 3\n"))
	relay.waitForChange(t, before.Hash)
	require.Equal(t, "1", relay.metric(t, "relay_config_last_reload_successful"))
	_, answer = request(t, http.MethodGet, relay.ops+"/readyz", "", nil)
	require.JSONEq(t, `{"status":"ok","reasons":[]}`, string(answer))
}

// Both for a ConfigMap and for a Secret, whose rotation takes effect too.
func TestSwappedLinksOfKubernetesAreFollowed(t *testing.T) {
	t.Parallel()
	dir, slack := t.TempDir(), startSlack(t)
	mount := func(version, token, limit string) {
		data := filepath.Join(dir, version)
		require.NoError(t, os.Mkdir(data, 0o755))
		text := channelFile("    category_limit: " + limit + "\n    auth: [{name: am, kind: bearer, secret_file: " + filepath.Join(dir,
			"token") + "}]\n")
		require.NoError(t, os.WriteFile(filepath.Join(data, "relay.yaml"), []byte(text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(data, "token"), []byte(token), 0o600))
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..new")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")))
	}
	mount("..1", "old", "3")
	for _, name := range []string{"relay.yaml", "token"} {
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	relay := startRelay(t, withFile("", slack.APIURL(), filepath.Join(dir, "relay.yaml"))...)
	send := func(token string) int {
		status, _ := request(t, http.MethodPost, relay.public+"/hooks/alerts", token, []byte(`{"title":"x"}`))
		return status
	}
	require.Equal(t, http.StatusAccepted, send("old"))
	before := relay.configuration(t)
	mount("..2", "new", "4")
	relay.waitForChange(t, before.Hash)
	require.Equal(t, http.StatusUnauthorized, send("old"))
	require.Equal(t, http.StatusAccepted, send("new"))
	mount("..3", "newest", "4")
	require.Eventually(t, func() bool { return send("newest") == http.StatusAccepted }, 10*time.Second, 10*time.Millisecond,
		"the secret alone changed")
}

func TestHangupReloadsAndNamesWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	slack, path := startSlack(t), configFile(t, channelFile("    category_limit: 2\n"))
	relay := startRelay(t, withFile("", slack.APIURL(), path)...)
	loaded := relay.configuration(t).LoadedAt
	relay.signal(syscall.SIGHUP)
	require.Eventually(t, func() bool { return relay.configuration(t).LoadedAt.After(loaded) }, 10*time.Second, 10*time.Millisecond)
	before := relay.configuration(t)
	rewrite(t, path, "lease: 20s\nreplicas: 7\n"+channelFile("    category_limit: 1\n"))
	require.Equal(t, []string{"replicas", "lease"}, relay.waitForChange(t, before.Hash).RestartNeeded)
	relay.logs(t, "restart needed for some settings")
	require.Equal(t, 1, relay.post(t, "alerts", []event{{Title: "1"}, {Title: "2"}}).Admitted, "the rest took effect")
	rewrite(t, path, "lease: 60s\nslack_timeout: 15s\n"+channelFile("    category_limit: 1\n"))
	require.Eventually(t, func() bool { return relay.configuration(t).Reload != nil }, 10*time.Second, 10*time.Millisecond)
	require.Contains(t, relay.configuration(t).Reload.Error, "lease: 10s is too short; use more than slack_timeout, 15s", "the lease is kept")
	require.Equal(t, 0, relay.stop())
}

// All that is admitted meanwhile is delivered once.
func TestRepeatedReloadsLoseNothing(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	path := configFile(t, channelFile("    global_limit: 1000000\n    category_limit: 100000\n"))
	relay := startRelay(t, withFile(redis.URL, slack.APIURL(), path)...)
	hash := relay.configuration(t).Hash
	sent := 0
	for i := range 5 {
		rewrite(t, path, channelFile(fmt.Sprintf("    global_limit: 1000000\n    category_limit: %d\n", 100001+i)))
		for changed := false; !changed; changed = relay.configuration(t).Hash != hash {
			require.Equal(t, 1, relay.post(t, "alerts", event{Title: fmt.Sprint(sent)}).Admitted)
			sent++
		}
		hash = relay.configuration(t).Hash
	}
	relay.drained(t, "alerts", time.Minute)
	posts := slack.Posts()
	require.Len(t, posts, sent)
	for i, post := range posts {
		require.Contains(t, post.Form.Get("text"), fmt.Sprint(i), "in order")
	}
}

func TestTLSListenerAuthenticatesClientsAndRotatesItsCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := newAuthority(t)
	writeTLS := func(name string) {
		certificate, key := authority.issue(t, name)
		rewrite(t, filepath.Join(dir, "tls.key"), key)
		rewrite(t, filepath.Join(dir, "tls.crt"), certificate)
	}
	writeTLS("one.example")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.crt"), []byte(authority.pem), 0o600))
	slack := startSlack(t)
	path := configFile(t, strings.NewReplacer("DIR", dir).Replace(
		"tls_cert_file: DIR/tls.crt\ntls_key_file: DIR/tls.key\ntls_client_ca_file: DIR/ca.crt\n")+
		channelFile("    auth: [{name: am, kind: mtls, subjects: [alertmanager.example]}, {name: token, kind: bearer, secret: tok}]\n"))
	relay := startRelay(t, withFile("", slack.APIURL(), path)...)
	address := strings.Replace(relay.public, "http://", "https://", 1)

	served := ""
	send := func(client, token string) int {
		config := &tls.Config{RootCAs: authority.pool, ServerName: served, MinVersion: tls.VersionTLS12}
		if client != "" {
			certificate, key := authority.issue(t, client)
			pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
			require.NoError(t, err)
			config.Certificates = []tls.Certificate{pair}
		}
		transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/hooks/alerts", strings.NewReader(`{"title":"x"}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(r)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		require.Equal(t, 2, response.ProtoMajor)
		return response.StatusCode
	}
	served = "one.example"
	require.Equal(t, http.StatusAccepted, send("alertmanager.example", ""))
	require.Equal(t, http.StatusUnauthorized, send("other.example", ""))
	require.Equal(t, http.StatusUnauthorized, send("", ""))
	require.Equal(t, http.StatusAccepted, send("", "tok"))
	writeTLS("two.example")
	served = "two.example"
	require.Eventually(t, func() bool { return send("", "tok") == http.StatusAccepted }, 10*time.Second, 50*time.Millisecond,
		"the new certificate")
	served = "one.example"
	require.Zero(t, send("", "tok"))
}
