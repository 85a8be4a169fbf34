package server_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

// A webhook with an old signed time may be a replay.
func TestSignedTimeBeyondToleranceIsRefused(t *testing.T) {
	t.Parallel()
	grafana := server.Credential{Name: "g", Kind: "grafana", Secret: "k", TimestampHeader: "X-Time"}
	standard := server.Credential{Name: "s", Kind: "standard", Secret: standardSecret, Tolerance: time.Minute}
	const accepted, refused = http.StatusAccepted, http.StatusUnauthorized
	for ago, want := range map[time.Duration]struct{ grafana, standard int }{
		0:                {accepted, accepted},
		4 * time.Minute:  {accepted, refused},
		-4 * time.Minute: {accepted, refused},
		6 * time.Minute:  {refused, refused},
		-6 * time.Minute: {refused, refused},
	} {
		t.Run(fmt.Sprint(ago, " ago"), func(t *testing.T) {
			t.Parallel()
			s, intake := authServer(t, grafana, standard)
			stamp := strconv.FormatInt(time.Now().Add(-ago).Unix(), 10)
			r := post("/hooks/c", body)
			r.Header.Set("X-Time", stamp)
			r.Header.Set("X-Grafana-Alerting-Signature", hexOf(sign(sha256.New, "k", stamp+":"+body)))
			status, _, _ := serve(s.Public(), r)
			require.Equal(t, want.grafana, status)

			r = post("/hooks/c", body)
			mac := sign(sha256.New, standardKey, "msg_1."+stamp+"."+body)
			r.Header.Set("Webhook-Id", "msg_1")
			r.Header.Set("Webhook-Timestamp", stamp)
			r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac))
			r.Header.Set("Idempotency-Key", "not signed")
			status, _, _ = serve(s.Public(), r)
			require.Equal(t, want.standard, status)
			if status == accepted {
				require.Equal(t, "msg_1#0", intake.events[0].ID, "the same id again is a duplicate")
			}
		})
	}
}

// Several credentials are valid at a time, so that a secret can be rotated. A credential with a source is valid for no other.
func TestCredentialIsValidForItsSourceOnly(t *testing.T) {
	t.Parallel()
	s, intake := authServer(t, server.Credential{Name: "old", Kind: "bearer", Secret: "1"},
		server.Credential{Name: "new", Kind: "bearer", Secret: "2"},
		server.Credential{Name: "hub", Kind: "bearer", Secret: "3", Source: "github"})
	send := func(path, token, body string) int {
		r := post(path, body)
		r.Header.Set("Authorization", "Bearer "+token)
		status, _, _ := serve(s.Public(), r)
		return status
	}
	push := `{"ref":"refs/heads/main","commits":[],"repository":{"full_name":"a/b"},"pusher":{"name":"x"}}`
	require.Equal(t, http.StatusAccepted, send("/hooks/c", "1", body))
	require.Equal(t, "old", intake.sender)
	require.Equal(t, http.StatusAccepted, send("/hooks/c", "2", body))
	require.Equal(t, "new", intake.sender)
	require.Equal(t, http.StatusAccepted, send("/hooks/c/github", "3", push))
	require.Equal(t, "hub", intake.sender)
	require.Equal(t, http.StatusUnauthorized, send("/hooks/c", "3", body), "not a webhook of GitHub")
	require.Equal(t, http.StatusUnauthorized, send("/hooks/c/generic", "3", body))
	require.Equal(t, http.StatusUnauthorized, send("/hooks/c", "4", body))
}

// Other addresses are refused, whatever they present. X-Forwarded-For counts only if a trusted proxy wrote it.
func TestOnlyAllowedAddressesMaySend(t *testing.T) {
	t.Parallel()
	prefixes := func(texts ...string) []netip.Prefix {
		all, wrong := server.ParseAddresses(texts)
		require.Empty(t, wrong)
		return all
	}
	intake := &stubIntake{}
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "c", AllowFrom: prefixes("192.0.2.7", "10.1.0.0/16", "2001:db8::/32")}}, Intake: intake,
		Proxies: prefixes("10.9.0.0/16", "::1"), Logger: slog.New(slog.DiscardHandler),
	})
	for name, c := range map[string]struct {
		remote, forwarded string
		ok                bool
		sender            string
	}{
		"allowed":                      {"192.0.2.7:1", "", true, "192.0.2.7"},
		"a range":                      {"10.1.2.3:1", "", true, "10.1.2.3"},
		"IPv6":                         {"[2001:db8::1]:1", "", true, "2001:db8::1"},
		"IPv4 in IPv6":                 {"[::ffff:10.1.2.3]:1", "", true, "10.1.2.3"},
		"elsewhere":                    {"192.0.2.8:1", "", false, ""},
		"a proxy itself":               {"10.9.0.1:1", "", false, ""},
		"through the proxy":            {"10.9.0.1:1", "10.1.2.3", true, "10.1.2.3"},
		"through two":                  {"[::1]:1", "10.1.2.3, 10.9.0.1", true, "10.1.2.3"},
		"forged before the proxy":      {"10.9.0.1:1", "10.1.2.3, 198.51.100.1", false, ""},
		"forged without a proxy":       {"198.51.100.1:1", "10.1.2.3", false, ""},
		"nonsense through the proxy":   {"10.9.0.1:1", "10.1.2.3, nonsense", false, ""},
		"several headers of the proxy": {"10.9.0.1:1", "198.51.100.1\n10.1.2.3", true, "10.1.2.3"},
		"a port":                       {"10.9.0.1:1", "10.1.2.3:51234", true, "10.1.2.3"},
		"a port of IPv6":               {"10.9.0.1:1", "[2001:db8::1]:443", true, "2001:db8::1"},
		"ports of two":                 {"[::1]:1", "10.1.2.3:51234, 10.9.0.1:80", true, "10.1.2.3"},
		"a port from elsewhere":        {"10.9.0.1:1", "203.0.113.9:51234", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := post("/hooks/c", body)
			r.RemoteAddr = c.remote
			for line := range strings.SplitSeq(c.forwarded, "\n") {
				r.Header.Add("X-Forwarded-For", line)
			}
			intake.sender = ""
			status, _, answer := serve(s.Public(), r)
			if c.ok {
				require.Equal(t, http.StatusAccepted, status, "%s: %s", name, answer)
			} else {
				require.Equal(t, http.StatusForbidden, status, name)
				require.Contains(t, string(answer), `"code":"forbidden"`)
			}
			require.Equal(t, c.sender, intake.sender, name)
		})
	}
	_, wrong := server.ParseAddresses([]string{"10.0.0.0/8", "10.0.0.0/33"})
	require.Equal(t, "10.0.0.0/33", wrong)
}

// A client certificate that the listener verified is a credential; its subjects may be restricted.
func TestClientCertificateMustBeVerifiedAndListed(t *testing.T) {
	t.Parallel()
	s, intake := authServer(t, server.Credential{Name: "am", Kind: "mtls", Subjects: []string{"alertmanager.example"}})
	send := func(state *tls.ConnectionState) int {
		r := post("/hooks/c", body)
		r.TLS = state
		status, _, _ := serve(s.Public(), r)
		return status
	}
	certificate := func(name string) *tls.ConnectionState {
		one := &x509.Certificate{
			Subject: pkix.Name{CommonName: name}, DNSNames: []string{"dns." + name},
			URIs: []*url.URL{{Scheme: "spiffe", Host: name}},
		}
		return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{one}, VerifiedChains: [][]*x509.Certificate{{one}}}
	}
	require.Equal(t, http.StatusAccepted, send(certificate("alertmanager.example")))
	require.Equal(t, "am", intake.sender)
	require.Equal(t, http.StatusUnauthorized, send(nil))
	require.Equal(t, http.StatusUnauthorized, send(certificate("other.example")))
	unverified := certificate("alertmanager.example")
	unverified.VerifiedChains = nil
	require.Equal(t, http.StatusUnauthorized, send(unverified))

	everybody, _ := authServer(t, server.Credential{Name: "any", Kind: "mtls"})
	r := post("/hooks/c", body)
	r.TLS = certificate("other.example")
	status, _, _ := serve(everybody.Public(), r)
	require.Equal(t, http.StatusAccepted, status)
}

// No secret that a sender presents, valid or not, is in a reply or in the log.
func TestNoReplyAndNoLogContainsASecret(t *testing.T) {
	t.Parallel()
	log := &strings.Builder{}
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "c", IngressToken: "s3cret-token", Credentials: []server.Credential{
			{Name: "url", Kind: "url", Secret: "s3cret-url"},
			{Name: "basic", Kind: "basic", Username: "u", Secret: "s3cret-basic"},
			{Name: "hmac", Kind: "hmac", Header: "X-Sig", Secret: "s3cret-key"},
			{Name: "std", Kind: "standard", Secret: standardSecret},
		}}},
		Intake: &stubIntake{err: fmt.Errorf("the engine broke")},
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	query := func(path, query string) func(r *http.Request) {
		return func(r *http.Request) { r.URL.Path, r.URL.RawQuery = path, query }
	}
	key := func(path, authorization string) func(r *http.Request) {
		return func(r *http.Request) {
			r.URL.Path = path
			r.Header.Set("Authorization", authorization)
		}
	}
	sent := func(path, body string) func(r *http.Request) {
		return func(r *http.Request) { r.URL.Path, r.Body = path, io.NopCloser(strings.NewReader(body)) }
	}
	for name, change := range map[string]func(r *http.Request){
		"token in the query":         func(r *http.Request) { r.URL.RawQuery = "token=s3cret-url" },
		"wrong token in the query":   func(r *http.Request) { r.URL.RawQuery = "token=s3cret-wrong" },
		"token in the path":          func(r *http.Request) { r.URL.Path = "/services/c/s3cret-token" },
		"wrong token in the path":    func(r *http.Request) { r.URL.Path = "/services/c/s3cret-wrong" },
		"Discord":                    func(r *http.Request) { r.URL.Path = "/api/webhooks/c/s3cret-token" },
		"Discord, wrong":             func(r *http.Request) { r.URL.Path = "/api/webhooks/c/s3cret-wrong/slack" },
		"Discord, elsewhere":         func(r *http.Request) { r.URL.Path = "/api/webhooks/nowhere/s3cret-wrong" },
		"Teams":                      func(r *http.Request) { r.URL.Path = "/webhookb2/c/IncomingWebhook/s3cret-wrong/s3cret-token" },
		"Teams, wrong":               func(r *http.Request) { r.URL.Path = "/webhookb2/c/s3cret-token/s3cret-wrong" },
		"a workflow":                 query("/workflows/c/triggers/manual/paths/invoke", "sig=s3cret-token"),
		"a workflow, wrong":          query("/workflows/c/triggers/manual/paths/invoke", "sig=s3cret-wrong"),
		"Google Chat":                query("/v1/spaces/c/messages", "key=s3cret-key&token=s3cret-token"),
		"Google Chat, wrong":         query("/v1/spaces/c/messages", "key=s3cret-key&token=s3cret-wrong"),
		"Mattermost":                 func(r *http.Request) { r.URL.Path = "/mattermost/hooks/s3cret-token" },
		"Mattermost, wrong":          func(r *http.Request) { r.URL.Path = "/mattermost/hooks/s3cret-wrong" },
		"Opsgenie":                   key("/v2/alerts", "GenieKey s3cret-token"),
		"Opsgenie, wrong":            key("/v2/alerts/x/close", "GenieKey s3cret-wrong"),
		"PagerDuty":                  sent("/v2/enqueue", `{"routing_key":"s3cret-token","event_action":"trigger","payload":{"summary":"x"}}`),
		"PagerDuty, wrong":           sent("/v2/enqueue", `{"routing_key":"s3cret-wrong","event_action":"trigger"}`),
		"PagerDuty, not an event":    sent("/v2/enqueue", `{"routing_key":"s3cret-token"}`),
		"PagerDuty, version 1":       sent("/generic/2010-04-15/create_event.json", `{"service_key":"s3cret-token","event_type":"trigger"}`),
		"password":                   func(r *http.Request) { r.SetBasicAuth("u", "s3cret-basic") },
		"wrong password":             func(r *http.Request) { r.SetBasicAuth("u", "s3cret-wrong") },
		"wrong bearer token":         func(r *http.Request) { r.Header.Set("Authorization", "Bearer s3cret-wrong") },
		"secret instead of its HMAC": func(r *http.Request) { r.Header.Set("X-Sig", "s3cret-wrong") },
		"HMAC":                       func(r *http.Request) { r.Header.Set("X-Sig", hexOf(sign(sha256.New, "s3cret-key", body))) },
	} {
		t.Run(name, func(t *testing.T) {
			r := post("/hooks/c", body)
			change(r)
			_, header, answer := serve(s.Public(), r)
			require.NotContains(t, string(answer), "s3cret")
			require.NotContains(t, fmt.Sprint(header), "s3cret")
		})
	}
	require.Contains(t, log.String(), "request failed")
	require.NotContains(t, log.String(), "s3cret")
}

// Whatever the headers contain, a request without the secret is refused.
func FuzzCredentials(f *testing.F) {
	f.Add("Bearer k", "v1,x v1,y", "1614265330", "sha256=00", "k", []byte(body))
	f.Add("Basic dTpr", "v1a,", "-1", "sha256=,", "", []byte("{}"))
	kinds := []server.Credential{
		{Name: "bearer", Kind: "bearer", Secret: "s3cret"},
		{Name: "basic", Kind: "basic", Username: "u", Secret: "s3cret"},
		{Name: "header", Kind: "header", Header: "X-Token", Secret: "s3cret"},
		{Name: "url", Kind: "url", Secret: "s3cret"},
		{Name: "standard", Kind: "standard", Secret: standardSecret},
		{Name: "hmac", Kind: "hmac", Header: "X-Sig", Secret: "s3cret"},
		{Name: "base64", Kind: "hmac", Header: "X-Sig", Encoding: "base64", Secret: "s3cret"},
		{Name: "sns", Kind: "sns", Topics: []string{"arn:aws:sns:eu-west-1:1:t"}},
	}
	for _, kind := range []string{"github", "gitea", "bitbucket", "grafana", "sentry", "pagerduty", "gitlab", "mtls"} {
		kinds = append(kinds, server.Credential{Name: kind, Kind: kind, Secret: "s3cret"})
	}
	s, intake := authServer(f, kinds...)
	public := s.Public()
	f.Fuzz(func(t *testing.T, authorization, signature, stamp, digest, token string, body []byte) {
		if strings.Contains(authorization+token, "s3cret") {
			return
		}
		r := httptest.NewRequest(http.MethodPost, "/hooks/c", strings.NewReader(string(body)))
		r.URL.RawQuery = url.Values{"token": {token}}.Encode()
		for _, name := range []string{
			"X-Hub-Signature-256", "X-Hub-Signature", "X-Gitea-Signature", "X-Grafana-Alerting-Signature", "Sentry-Hook-Signature",
			"X-Pagerduty-Signature", "X-Sig", "X-Token",
		} {
			r.Header.Set(name, digest)
		}
		for name, value := range map[string]string{
			"Authorization": authorization, "Webhook-Signature": signature,
			"Webhook-Timestamp": stamp, "Webhook-Id": "1",
		} {
			r.Header.Set(name, value)
		}
		intake.sender = ""
		status, _, _ := serve(public, r)
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusBadRequest, http.StatusRequestEntityTooLarge}, status)
		require.Empty(t, intake.sender)
	})
}
