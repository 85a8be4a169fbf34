package server_test

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

// authServer is a server whose only channel asks for these credentials.
func authServer(tb testing.TB, credentials ...server.Credential) (*server.Server, *stubIntake) {
	tb.Helper()
	for _, c := range credentials {
		require.NoError(tb, c.Check())
	}
	intake := &stubIntake{}
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

// anyTime is a tolerance that accepts published examples of years ago.
const anyTime = 100 * 365 * 24 * time.Hour

const body = `{"title":"x"}`

// standardKey has the shortest length that Standard Webhooks allow.
const standardKey = "s3cret-key-of-24-bytes.."

var standardSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(standardKey))

// credentialCase is a webhook that a credential accepts.
type credentialCase struct {
	credential server.Credential
	header     map[string]string
	query      string
	body       string
	noEvent    bool // the provider's example is not an event; the error shows that it was authenticated
}

// credentialCases are webhooks as each provider sends them; the provider's own example if it publishes one.
func credentialCases(t *testing.T) map[string]credentialCase {
	t.Helper()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	pagerduty, err := os.ReadFile("testdata/pagerduty_vector.json")
	require.NoError(t, err)
	return map[string]credentialCase{
		"github, its example": {
			credential: server.Credential{Kind: "github", Secret: "It's a Secret to Everybody"}, body: "Hello, World!", noEvent: true,
			header: map[string]string{"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
		},
		"bitbucket, its example": {
			credential: server.Credential{Kind: "bitbucket", Secret: "It's a Secret to Everybody"}, body: "Hello World!", noEvent: true,
			header: map[string]string{"X-Hub-Signature": "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9"},
		},
		"standard webhooks, their example": {
			credential: server.Credential{Kind: "standard", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Tolerance: anyTime},
			body:       `{"test": 2432232314}`,
			header: map[string]string{
				"Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp": "1614265330",
				"Webhook-Signature": "v1,bm9uc2Vuc2U= v1a,x v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
			},
		},
		"pagerduty, its example, while a secret is rotated": {
			credential: server.Credential{Kind: "pagerduty", Secret: "lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK"},
			body:       string(pagerduty),
			header: map[string]string{
				"X-Pagerduty-Signature": "v1=" + strings.Repeat("00", 32) + ",v1=0c0b9495b893a39e70d1fea2fe11fbe0a825f88b9f67846f6cc07dd2bc5476cd",
			},
		},
		"gitea": {
			credential: server.Credential{Kind: "gitea", Secret: "k"},
			header:     map[string]string{"X-Gitea-Signature": hexOf(sign(sha256.New, "k", body))},
		},
		"gitlab": {credential: server.Credential{Kind: "gitlab", Secret: "k"}, header: map[string]string{"X-Gitlab-Token": "k"}},
		"sentry": {
			credential: server.Credential{Kind: "sentry", Secret: "k"},
			header:     map[string]string{"Sentry-Hook-Signature": hexOf(sign(sha256.New, "k", body))},
		},
		"grafana": {
			credential: server.Credential{Kind: "grafana", Secret: "k"},
			header:     map[string]string{"X-Grafana-Alerting-Signature": hexOf(sign(sha256.New, "k", body))},
		},
		"grafana with the time": {
			credential: server.Credential{Kind: "grafana", Secret: "k", Header: "X-Sig", TimestampHeader: "X-Time"},
			header:     map[string]string{"X-Time": now, "X-Sig": hexOf(sign(sha256.New, "k", now+":"+body))},
		},
		"any HMAC": {
			credential: server.Credential{Kind: "hmac", Secret: "k", Header: "X-Sig", Algorithm: "sha512", Encoding: "base64", Prefix: "v0="},
			header:     map[string]string{"X-Sig": "v0=" + base64.StdEncoding.EncodeToString(sign(sha512.New, "k", body))},
		},
		"bearer": {credential: server.Credential{Kind: "bearer", Secret: "k"}, header: map[string]string{"Authorization": "bearer k"}},
		"basic": {
			credential: server.Credential{Kind: "basic", Username: "u", Secret: "k"},
			header:     map[string]string{"Authorization": "Basic dTpr"},
		},
		"header": {
			credential: server.Credential{Kind: "header", Header: "cf-webhook-auth", Secret: "k"},
			header:     map[string]string{"Cf-Webhook-Auth": "k"},
		},
		"url": {credential: server.Credential{Kind: "url", Secret: "k"}, query: "?token=k"},
	}
}

// request returns the webhook, changed.
func (c credentialCase) request(change func(r *http.Request, body *string)) *http.Request {
	text := cmp.Or(c.body, body)
	r := post("/hooks/c"+c.query, "")
	for header, value := range c.header {
		r.Header.Set(header, value)
	}
	change(r, &text)
	changed := post(r.URL.String(), text)
	changed.Header = r.Header
	return changed
}

func TestCredentialAcceptsOnlyItsSecret(t *testing.T) {
	t.Parallel()
	for name, c := range credentialCases(t) {
		c.credential.Name = "who"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, intake := authServer(t, server.Credential{Name: "other", Kind: "bearer", Secret: "other"}, c.credential)
			status, _, answer := serve(s.Public(), c.request(func(*http.Request, *string) {}))
			if c.noEvent {
				require.Equal(t, http.StatusBadRequest, status, "%s", answer)
				require.NotContains(t, string(answer), "unauthorized")
			} else {
				require.Equal(t, http.StatusAccepted, status, "%s", answer)
				require.Equal(t, "who", intake.sender)
			}
			c.refuses(t, s)
		})
	}
}

// refuses checks that the credential refuses every change of its webhook.
func (c credentialCase) refuses(t *testing.T, s *server.Server) {
	t.Helper()
	refused := func(what string, s *server.Server, change func(r *http.Request, body *string)) {
		t.Run(what, func(t *testing.T) {
			status, _, answer := serve(s.Public(), c.request(change))
			require.Equal(t, http.StatusUnauthorized, status, "%s", answer)
			require.NotContains(t, string(answer), c.credential.Secret+`"`)
		})
	}
	wrong := c.credential
	wrong.Secret = base64.StdEncoding.EncodeToString([]byte("another key of so many bytes"))
	other, _ := authServer(t, wrong)
	refused("another secret", other, func(*http.Request, *string) {})
	refused("no credential", s, func(r *http.Request, _ *string) {
		r.Header = http.Header{}
		r.URL.RawQuery = ""
	})
	for header, value := range c.header {
		if header == "Webhook-Id" { // any other id needs another signature
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
}

func TestCheckNamesTheFaultyField(t *testing.T) {
	t.Parallel()
	require.Contains(t, server.CredentialKinds(), "gitlab")
	for message, c := range map[string]server.Credential{
		`kind: "token" is not a kind of credential; use basic, bearer`: {Name: "a", Kind: "token", Secret: "s"},
		"name: is empty": {Kind: "bearer", Secret: "s"},
		"secret: is empty; set secret or secret_file":             {Name: "a", Kind: "bearer"},
		"username: is empty":                                      {Name: "a", Kind: "basic", Secret: "s"},
		"header: is empty; set the header that kind hmac reads":   {Name: "a", Kind: "hmac", Secret: "s"},
		"header: is empty; set the header that kind header reads": {Name: "a", Kind: "header", Secret: "s"},
		"topics: is empty; list the ARNs":                         {Name: "a", Kind: "sns"},
		"use whsec_ followed by base64":                           {Name: "a", Kind: "standard", Secret: "no base64!"},
		"a key of 0 bytes":                                        {Name: "a", Kind: "standard", Secret: "whsec_"},
		"a key of 23 bytes": {
			Name: "a", Kind: "standard",
			Secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte(standardKey[1:])),
		},
		`source: "generic" is not possible with kind sns; use sns`: {Name: "a", Kind: "sns", Source: "generic", Topics: []string{topic}},
		`topics: "alarms" is not the ARN of a topic; use one like`: {Name: "a", Kind: "sns", Topics: []string{topic, "alarms"}},
		"set secret or secret_file":                                {Name: "a", Kind: "hmac", Header: "X", Secret: " \t"},
		`algorithm: "md5" is not a valid value; use sha256`:        {Name: "a", Kind: "hmac", Secret: "s", Header: "X", Algorithm: "md5"},
		`encoding: "rot13" is not a valid value; use hex`:          {Name: "a", Kind: "github", Secret: "s", Encoding: "rot13"},
		"tolerance: -1s is out of range; use 0s or more":           {Name: "a", Kind: "grafana", Secret: "s", Tolerance: -time.Second},
	} {
		t.Run(message, func(t *testing.T) {
			require.ErrorContains(t, c.Check(), message)
		})
	}
}
