package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

// guard is a server whose only channel asks for these credentials.
func guard(tb testing.TB, credentials ...server.Credential) (*server.Server, *taken) {
	tb.Helper()
	for _, c := range credentials {
		require.NoError(tb, c.Check())
	}
	intake := &taken{}
	return server.New(server.Options{
		Channels: []server.Channel{{Name: "c", Credentials: credentials}}, Intake: intake, Logger: slog.New(slog.DiscardHandler),
	}), intake
}

func sign(algorithm func() hash.Hash, key, text string) []byte {
	mac := hmac.New(algorithm, []byte(key))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func hexOf(sum []byte) string { return hex.EncodeToString(sum) }

// anyTime is long enough for vectors of years ago.
const anyTime = 100 * 365 * 24 * time.Hour

const body = `{"title":"x"}`

// standardKey is the shortest key that Standard Webhooks allow; in its secret, no text of a test is.
const standardKey = "s3cret-key-of-24-bytes.."

var standardSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(standardKey))

// Each kind of credential, as its provider has it; where the provider publishes an example, that one.
func TestCredentials(t *testing.T) {
	t.Parallel()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	pagerduty, err := os.ReadFile("testdata/pagerduty_vector.json")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		credential server.Credential
		header     map[string]string
		query      string
		body       string
		noEvent    bool // the provider's example is none; that it is let in shows in the error
	}{
		"github, its example": {
			credential: server.Credential{Kind: "github", Secret: "It's a Secret to Everybody"}, body: "Hello, World!", noEvent: true,
			header: map[string]string{"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
		},
		"bitbucket, its example": {
			credential: server.Credential{Kind: "bitbucket", Secret: "It's a Secret to Everybody"}, body: "Hello World!", noEvent: true,
			header: map[string]string{"X-Hub-Signature": "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9"},
		},
		"standard webhooks, their example": {
			credential: server.Credential{Kind: "standard", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Tolerance: anyTime}, body: `{"test": 2432232314}`, noEvent: true,
			header: map[string]string{
				"Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp": "1614265330",
				"Webhook-Signature": "v1,bm9uc2Vuc2U= v1a,x v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
			},
		},
		"pagerduty, its example, while a secret is rotated": {
			credential: server.Credential{Kind: "pagerduty", Secret: "lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK"}, body: string(pagerduty),
			header: map[string]string{"X-Pagerduty-Signature": "v1=" + strings.Repeat("00", 32) + ",v1=0c0b9495b893a39e70d1fea2fe11fbe0a825f88b9f67846f6cc07dd2bc5476cd"},
		},
		"gitea":   {credential: server.Credential{Kind: "gitea", Secret: "k"}, header: map[string]string{"X-Gitea-Signature": hexOf(sign(sha256.New, "k", body))}},
		"gitlab":  {credential: server.Credential{Kind: "gitlab", Secret: "k"}, header: map[string]string{"X-Gitlab-Token": "k"}},
		"sentry":  {credential: server.Credential{Kind: "sentry", Secret: "k"}, header: map[string]string{"Sentry-Hook-Signature": hexOf(sign(sha256.New, "k", body))}},
		"grafana": {credential: server.Credential{Kind: "grafana", Secret: "k"}, header: map[string]string{"X-Grafana-Alerting-Signature": hexOf(sign(sha256.New, "k", body))}},
		"grafana with the time": {
			credential: server.Credential{Kind: "grafana", Secret: "k", Header: "X-Sig", TimestampHeader: "X-Time"},
			header:     map[string]string{"X-Time": now, "X-Sig": hexOf(sign(sha256.New, "k", now+":"+body))},
		},
		"any HMAC": {
			credential: server.Credential{Kind: "hmac", Secret: "k", Header: "X-Sig", Algorithm: "sha512", Encoding: "base64", Prefix: "v0="},
			header:     map[string]string{"X-Sig": "v0=" + base64.StdEncoding.EncodeToString(sign(sha512.New, "k", body))},
		},
		"bearer": {credential: server.Credential{Kind: "bearer", Secret: "k"}, header: map[string]string{"Authorization": "bearer k"}},
		"basic":  {credential: server.Credential{Kind: "basic", Username: "u", Secret: "k"}, header: map[string]string{"Authorization": "Basic dTpr"}},
		"header": {credential: server.Credential{Kind: "header", Header: "cf-webhook-auth", Secret: "k"}, header: map[string]string{"Cf-Webhook-Auth": "k"}},
		"url":    {credential: server.Credential{Kind: "url", Secret: "k"}, query: "?token=k"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.credential.Name = "who"
			if c.body == "" {
				c.body = body
			}
			try := func(s *server.Server, change func(r *http.Request, body *string)) (int, string) {
				text := c.body
				r := post("/hooks/c"+c.query, "")
				for header, value := range c.header {
					r.Header.Set(header, value)
				}
				change(r, &text)
				changed := post(r.URL.String(), text)
				changed.Header = r.Header
				status, _, answer := serve(s.Public(), changed)
				return status, string(answer)
			}
			s, intake := guard(t, server.Credential{Name: "other", Kind: "bearer", Secret: "other"}, c.credential)
			status, answer := try(s, func(*http.Request, *string) {})
			if c.noEvent {
				require.Equal(t, http.StatusBadRequest, status, "%s", answer)
				require.NotContains(t, answer, "unauthorized")
			} else {
				require.Equal(t, http.StatusAccepted, status, "%s", answer)
				require.Equal(t, "who", intake.sender)
			}

			refused := func(what string, s *server.Server, change func(r *http.Request, body *string)) {
				status, answer := try(s, change)
				require.Equal(t, http.StatusUnauthorized, status, "%s: %s", what, answer)
				require.NotContains(t, answer, c.credential.Secret+`"`)
			}
			wrong := c.credential
			wrong.Secret = base64.StdEncoding.EncodeToString([]byte("another key of so many bytes"))
			other, _ := guard(t, wrong)
			refused("another secret", other, func(*http.Request, *string) {})
			refused("nothing shown", s, func(r *http.Request, _ *string) { r.Header, r.URL.RawQuery = http.Header{}, "" })
			for header, value := range c.header {
				if header == "Webhook-Id" { // any other is another signature
					value = "msg_other."
				}
				refused(header+" cut off", s, func(r *http.Request, _ *string) { r.Header.Set(header, value[:len(value)-1]) })
				refused(header+" empty", s, func(r *http.Request, _ *string) { r.Header.Set(header, "") })
			}
			switch c.credential.Kind {
			case "bearer", "basic", "header", "url", "gitlab":
			default:
				refused("another body", s, func(_ *http.Request, body *string) { *body += " " })
			}
		})
	}
}

// A signature over an old time is a replay.
func TestSignedTimes(t *testing.T) {
	t.Parallel()
	grafana := server.Credential{Name: "g", Kind: "grafana", Secret: "k", TimestampHeader: "X-Time"}
	standard := server.Credential{Name: "s", Kind: "standard", Secret: standardSecret, Tolerance: time.Minute}
	s, intake := guard(t, grafana, standard)
	for ago, ok := range map[time.Duration]bool{
		0: true, 4 * time.Minute: true, -4 * time.Minute: true, 6 * time.Minute: false, -6 * time.Minute: false,
	} {
		stamp := strconv.FormatInt(time.Now().Add(-ago).Unix(), 10)
		r := post("/hooks/c", body)
		r.Header.Set("X-Time", stamp)
		r.Header.Set("X-Grafana-Alerting-Signature", hexOf(sign(sha256.New, "k", stamp+":"+body)))
		status, _, _ := serve(s.Public(), r)
		require.Equal(t, ok, status == http.StatusAccepted, "%s ago", ago)

		r = post("/hooks/c", body)
		r.Header.Set("Webhook-Id", "msg_1")
		r.Header.Set("Webhook-Timestamp", stamp)
		r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sign(sha256.New, standardKey, "msg_1."+stamp+"."+body)))
		r.Header.Set("Idempotency-Key", "added by who sends it again")
		status, _, _ = serve(s.Public(), r)
		require.Equal(t, ago == 0, status == http.StatusAccepted, "%s ago", ago)
		if ago == 0 {
			require.Equal(t, "msg_1#0", intake.events[0].ID, "the same within the tolerance is the same event")
		}
	}
}

// The old secret and the new one are good while a sender changes over; a credential for one source is good for no other.
func TestRotationAndSources(t *testing.T) {
	t.Parallel()
	s, intake := guard(t, server.Credential{Name: "old", Kind: "bearer", Secret: "1"}, server.Credential{Name: "new", Kind: "bearer", Secret: "2"},
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
	require.Equal(t, http.StatusUnauthorized, send("/hooks/c", "3", body), "that is no webhook of GitHub")
	require.Equal(t, http.StatusUnauthorized, send("/hooks/c/generic", "3", body))
	require.Equal(t, http.StatusUnauthorized, send("/hooks/c", "4", body))
}

func TestCredentialFaults(t *testing.T) {
	t.Parallel()
	require.Contains(t, server.CredentialKinds(), "gitlab")
	for says, c := range map[string]server.Credential{
		`kind is "token"; it must be basic, bearer`: {Name: "a", Kind: "token", Secret: "s"},
		"name is needed":                            {Kind: "bearer", Secret: "s"},
		"secret, or secret_file, is needed":         {Name: "a", Kind: "bearer"},
		"username is needed":                        {Name: "a", Kind: "basic", Secret: "s"},
		"header is needed for kind hmac":            {Name: "a", Kind: "hmac", Secret: "s"},
		"header is needed for kind header":          {Name: "a", Kind: "header", Secret: "s"},
		"topics are needed":                         {Name: "a", Kind: "sns"},
		"secret must be whsec_ and base64":          {Name: "a", Kind: "standard", Secret: "no base64!"},
		"a key of 0 bytes":                          {Name: "a", Kind: "standard", Secret: "whsec_"},
		"a key of 23 bytes":                         {Name: "a", Kind: "standard", Secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte(standardKey[1:]))},
		`source is "generic"; it must be sns`:       {Name: "a", Kind: "sns", Source: "generic", Topics: []string{topic}},
		`topics has "alarms"; write the ARN`:        {Name: "a", Kind: "sns", Topics: []string{topic, "alarms"}},
		"or secret_file, is needed":                 {Name: "a", Kind: "hmac", Header: "X", Secret: " \t"},
		`algorithm is "md5"`:                        {Name: "a", Kind: "hmac", Secret: "s", Header: "X", Algorithm: "md5"},
		`encoding is "rot13"`:                       {Name: "a", Kind: "github", Secret: "s", Encoding: "rot13"},
		"tolerance is -1s; it must not be negative": {Name: "a", Kind: "grafana", Secret: "s", Tolerance: -time.Second},
	} {
		require.ErrorContains(t, c.Check(), says)
	}
}

// Who comes from elsewhere is turned away, whatever he shows; a proxy is believed only where it is trusted.
func TestAllowedAddresses(t *testing.T) {
	t.Parallel()
	prefixes := func(texts ...string) []netip.Prefix {
		all, wrong := server.ParseAddresses(texts)
		require.Empty(t, wrong)
		return all
	}
	intake := &taken{}
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
		"a lie before the proxy":       {"10.9.0.1:1", "10.1.2.3, 198.51.100.1", false, ""},
		"a lie of who is no proxy":     {"198.51.100.1:1", "10.1.2.3", false, ""},
		"nonsense through the proxy":   {"10.9.0.1:1", "10.1.2.3, nonsense", false, ""},
		"several headers of the proxy": {"10.9.0.1:1", "198.51.100.1\n10.1.2.3", true, "10.1.2.3"},
		"a port":                       {"10.9.0.1:1", "10.1.2.3:51234", true, "10.1.2.3"},
		"a port of IPv6":               {"10.9.0.1:1", "[2001:db8::1]:443", true, "2001:db8::1"},
		"ports of two":                 {"[::1]:1", "10.1.2.3:51234, 10.9.0.1:80", true, "10.1.2.3"},
		"a port from elsewhere":        {"10.9.0.1:1", "203.0.113.9:51234", false, ""},
	} {
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
	}
	_, wrong := server.ParseAddresses([]string{"10.0.0.0/8", "10.0.0.0/33"})
	require.Equal(t, "10.0.0.0/33", wrong)
}

// A certificate that the listener's authority signed is a credential; which ones can be said.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	s, intake := guard(t, server.Credential{Name: "am", Kind: "mtls", Subjects: []string{"alertmanager.example"}})
	send := func(state *tls.ConnectionState) int {
		r := post("/hooks/c", body)
		r.TLS = state
		status, _, _ := serve(s.Public(), r)
		return status
	}
	certificate := func(name string) *tls.ConnectionState {
		one := &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{"dns." + name}, URIs: []*url.URL{{Scheme: "spiffe", Host: name}}}
		return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{one}, VerifiedChains: [][]*x509.Certificate{{one}}}
	}
	require.Equal(t, http.StatusAccepted, send(certificate("alertmanager.example")))
	require.Equal(t, "am", intake.sender)
	require.Equal(t, http.StatusUnauthorized, send(nil))
	require.Equal(t, http.StatusUnauthorized, send(certificate("other.example")))
	unverified := certificate("alertmanager.example")
	unverified.VerifiedChains = nil
	require.Equal(t, http.StatusUnauthorized, send(unverified))

	everybody, _ := guard(t, server.Credential{Name: "any", Kind: "mtls"})
	r := post("/hooks/c", body)
	r.TLS = certificate("other.example")
	status, _, _ := serve(everybody.Public(), r)
	require.Equal(t, http.StatusAccepted, status)
}

// No secret that a sender shows, right or wrong, is in an answer or in the log.
func TestIngressSecretsStaySecret(t *testing.T) {
	t.Parallel()
	log := &strings.Builder{}
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "c", IngressToken: "s3cret-token", Credentials: []server.Credential{
			{Name: "url", Kind: "url", Secret: "s3cret-url"},
			{Name: "basic", Kind: "basic", Username: "u", Secret: "s3cret-basic"},
			{Name: "hmac", Kind: "hmac", Header: "X-Sig", Secret: "s3cret-key"},
			{Name: "std", Kind: "standard", Secret: standardSecret},
		}}},
		Intake: &taken{err: fmt.Errorf("the engine broke")}, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	for _, change := range []func(r *http.Request){
		func(r *http.Request) { r.URL.RawQuery = "token=s3cret-url" },
		func(r *http.Request) { r.URL.RawQuery = "token=s3cret-wrong" },
		func(r *http.Request) { r.URL.Path = "/services/c/s3cret-token" },
		func(r *http.Request) { r.URL.Path = "/services/c/s3cret-wrong" },
		func(r *http.Request) { r.SetBasicAuth("u", "s3cret-basic") },
		func(r *http.Request) { r.SetBasicAuth("u", "s3cret-wrong") },
		func(r *http.Request) { r.Header.Set("Authorization", "Bearer s3cret-wrong") },
		func(r *http.Request) { r.Header.Set("X-Sig", "s3cret-wrong") },
		func(r *http.Request) { r.Header.Set("X-Sig", hexOf(sign(sha256.New, "s3cret-key", body))) },
	} {
		r := post("/hooks/c", body)
		change(r)
		_, header, answer := serve(s.Public(), r)
		require.NotContains(t, string(answer), "s3cret")
		require.NotContains(t, fmt.Sprint(header), "s3cret")
	}
	require.Contains(t, log.String(), "request failed")
	require.NotContains(t, log.String(), "s3cret")
}

// Whatever headers hold, a credential is refused or taken, in no more than a moment, and nothing but the right one is taken.
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
	s, intake := guard(f, kinds...)
	public := s.Public()
	f.Fuzz(func(t *testing.T, authorization, signature, stamp, digest, token string, body []byte) {
		if strings.Contains(authorization+token, "s3cret") {
			return
		}
		r := httptest.NewRequest(http.MethodPost, "/hooks/c", strings.NewReader(string(body)))
		r.URL.RawQuery = url.Values{"token": {token}}.Encode()
		for _, name := range []string{
			"X-Hub-Signature-256", "X-Hub-Signature", "X-Gitea-Signature", "X-Grafana-Alerting-Signature", "Sentry-Hook-Signature", "X-Pagerduty-Signature", "X-Sig", "X-Token",
		} {
			r.Header.Set(name, digest)
		}
		for name, value := range map[string]string{"Authorization": authorization, "Webhook-Signature": signature, "Webhook-Timestamp": stamp, "Webhook-Id": "1"} {
			r.Header.Set(name, value)
		}
		intake.sender = ""
		status, _, _ := serve(public, r)
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusBadRequest, http.StatusRequestEntityTooLarge}, status)
		require.Empty(t, intake.sender)
	})
}
