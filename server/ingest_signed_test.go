package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

// signatures sign a webhook with each kind of credential.
var signatures = map[string]struct {
	credential server.Credential
	sign       func(body string) http.Header
}{
	"standard": {
		credential: server.Credential{Name: "s", Kind: "standard", Secret: standardSecret},
		sign: func(body string) http.Header {
			stamp := strconv.FormatInt(time.Now().Unix(), 10)
			mac := sign(sha256.New, standardKey, "msg_1."+stamp+"."+body)
			return http.Header{
				"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {stamp},
				"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac)},
			}
		},
	},
	"hmac": {
		credential: server.Credential{Name: "h", Kind: "hmac", Header: "X-Sig", Secret: "k"},
		sign:       func(body string) http.Header { return http.Header{"X-Sig": {hexOf(sign(sha256.New, "k", body))}} },
	},
	"hmac with the time": {
		credential: server.Credential{Name: "h", Kind: "hmac", Header: "X-Sig", TimestampHeader: "X-Time", Secret: "k"},
		sign: func(body string) http.Header {
			stamp := strconv.FormatInt(time.Now().Unix(), 10)
			return http.Header{"X-Time": {stamp}, "X-Sig": {hexOf(sign(sha256.New, "k", stamp+":"+body))}}
		},
	},
	"grafana": {
		credential: server.Credential{Name: "g", Kind: "grafana", Secret: "k"},
		sign: func(body string) http.Header {
			return http.Header{"X-Grafana-Alerting-Signature": {hexOf(sign(sha256.New, "k", body))}}
		},
	},
	"github": {
		credential: server.Credential{Name: "g", Kind: "github", Source: "github", Secret: "k"},
		sign: func(body string) http.Header {
			return http.Header{
				"X-Hub-Signature-256": {"sha256=" + hexOf(sign(sha256.New, "k", body))}, "X-Github-Event": {"workflow_run"},
				"X-Github-Delivery": {"d-1"},
			}
		},
	},
	"gitea": {
		credential: server.Credential{Name: "g", Kind: "gitea", Secret: "k"},
		sign: func(body string) http.Header {
			return http.Header{"X-Gitea-Signature": {hexOf(sign(sha256.New, "k", body))}, "X-Gitea-Event": {"workflow_run"}}
		},
	},
	"sentry": {
		credential: server.Credential{Name: "g", Kind: "sentry", Secret: "k"},
		sign: func(body string) http.Header {
			return http.Header{"Sentry-Hook-Signature": {hexOf(sign(sha256.New, "k", body))}}
		},
	},
	"pagerduty": {
		credential: server.Credential{Name: "g", Kind: "pagerduty", Secret: "k"},
		sign: func(body string) http.Header {
			return http.Header{"X-Pagerduty-Signature": {"v1=" + hexOf(sign(sha256.New, "k", body))}}
		},
	},
	"bitbucket": {
		credential: server.Credential{Name: "g", Kind: "bitbucket", Secret: "k"},
		sign: func(body string) http.Header {
			return http.Header{"X-Hub-Signature": {"sha256=" + hexOf(sign(sha256.New, "k", body))}}
		},
	},
}

// signedBodies are bodies of each source, with and without an id or a start time.
var signedBodies = map[string][]string{
	"": {`{"title":"Disk full"}`, `{"events":[{"title":"a"},{"title":"b"}]}`, `{"id":"7","title":"Disk full"}`},
	"grafana": {`{"receiver":"r","orgId":1,"alerts":[
		{"status":"firing","labels":{"alertname":"A"},"fingerprint":"f","startsAt":"2026-11-20T07:00:00Z"}]}`},
	"github": {
		`{"action":"completed","workflow_run":{"id":1,"name":"ci","conclusion":"failure","run_started_at":"2026-11-20T07:00:00Z"},
			"repository":{"full_name":"a/b","node_id":"x"},"sender":{"login":"me"}}`,
		`{"ref":"refs/heads/main","before":"0","after":"1","commits":[],
			"repository":{"full_name":"a/b","node_id":"x"},"sender":{"login":"me"}}`,
	},
	"pagerduty": {`{"event":{"id":"1","event_type":"incident.triggered","occurred_at":"2026-11-20T07:00:00Z",
		"data":{"id":"P","type":"incident","title":"Disk full","service":{"summary":"db"}}}}`},
	"gitea": {`{"action":"completed","workflow_run":{"id":1,"name":"ci","conclusion":"failure","run_started_at":"2026-11-20T07:00:00Z"},
		"repository":{"full_name":"a/b"},"sender":{"login":"me"}}`},
}

// unsignedHeaders are headers that somebody may add to a replayed webhook.
var unsignedHeaders = []http.Header{
	{"X-Github-Event": {"push"}},
	{"X-Github-Event": {"workflow_run"}},
	{"X-Gitea-Event": {"push"}},
	{"X-Gitlab-Event": {"x"}},
	{"X-Event-Key": {"repo:push"}},
	{"Sentry-Hook-Resource": {"issue"}},
	{"X-Amz-Sns-Message-Type": {"Notification"}},
	{"Idempotency-Key": {"new"}},
	{"X-Request-Uuid": {"new"}},
	{"X-Github-Delivery": {"new"}},
	{"X-Gitea-Delivery": {"new"}},
	{"Request-Id": {"new"}},
	{"Ce-Specversion": {"1.0"}, "Ce-Id": {"new"}, "Ce-Type": {"PWNED"}, "Ce-Source": {"x"}, "Ce-Subject": {"PWNED"}},
	{"Content-Type": {"text/plain"}},
	{"Content-Type": {"application/x-www-form-urlencoded"}},
	{"Content-Type": {"application/cloudevents+json"}},
	{"Content-Type": {"application/cloudevents-batch+json"}},
}

// Anybody who saw a signed webhook can send it again. It is a duplicate, whatever unsigned parts are added.
func TestReplayOfASignedWebhookIsADuplicate(t *testing.T) {
	t.Parallel()
	for name, c := range signatures {
		source := c.credential.Source
		if c.credential.Kind != "standard" && c.credential.Kind != "hmac" {
			source = c.credential.Kind
		}
		bodies := signedBodies[source]
		if bodies == nil {
			bodies = []string{`{"title":"Disk full","action":"x"}`}
		}
		for _, body := range bodies {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				relay := newRelay(t, server.Options{Channels: []server.Channel{{Name: "c", Credentials: []server.Credential{c.credential}}}})
				signed := c.sign(body)
				first := relay.send("/hooks/c", body, signed)
				require.Regexp(t, `^admitted( admitted)*$`, first)
				again := strings.ReplaceAll(first, "admitted", "duplicate")
				require.Equal(t, again, relay.send("/hooks/c", body, signed))
				for _, path := range []string{
					"?category=x", "?title=PWNED", "?id=9", "?token=k", "?test=1", "?test=true&title=x", "/slack",
					"/kwatch", "/splunk", "/jenkins", "/sentry", "/uptimerobot", "/generic", "/github", "/" + source,
				} {
					if path == "/" {
						continue
					}
					require.NotContains(t, relay.send("/hooks/c"+path, body, signed), "admitted", path)
				}
				for i, added := range unsignedHeaders {
					header := maps.Clone(signed)
					maps.Copy(header, added)
					require.Equal(t, again, relay.send("/hooks/c", body, header), "%d: %v", i, added)
				}
				if c.credential.Kind == "hmac" && c.credential.TimestampHeader == "" {
					other := `{"title":"another"}`
					require.Equal(t, "admitted", relay.send("/hooks/c", other, c.sign(other)))
				}
			})
		}
	}
}

// No unsigned header and no part of the URL becomes part of an event.
func TestUnsignedPartsOfASignedWebhookAreIgnored(t *testing.T) {
	t.Parallel()
	for name, c := range signatures {
		t.Run(name, func(t *testing.T) {
			body := `{"title":"Disk full"}`
			if bodies := signedBodies[c.credential.Kind]; bodies != nil {
				body = bodies[0]
			}
			s, intake := authServer(t, c.credential)
			try := func(path, body string, added http.Header) int {
				r := post(path, body)
				maps.Copy(r.Header, c.sign(body))
				maps.Copy(r.Header, added)
				intake.events = nil
				status, _, _ := serve(s.Public(), r)
				return status
			}
			for path, added := range map[string]http.Header{
				"/hooks/c?title=PWNED&text=PWNED&category=pwned": nil,
				"/hooks/c": {
					"Ce-Specversion": {"1.0"}, "Ce-Id": {"PWNED"}, "Ce-Type": {"PWNED"}, "Ce-Source": {"PWNED"},
					"Ce-Subject": {"PWNED"}, "Ce-Pwned": {"PWNED"}, "Idempotency-Key": {"PWNED"}, "X-Gitlab-Event": {"PWNED"},
				},
			} {
				require.Equal(t, http.StatusAccepted, try(path, body, added), "%s: %s", name, path)
				require.NotContains(t, strings.ToLower(fmt.Sprintf("%+v", intake.events)), "pwned", name)
			}
			require.Equal(t, http.StatusBadRequest, try("/hooks/c?title=PWNED", "", nil), "an empty body")
			require.Nil(t, intake.events)
			require.Equal(t, http.StatusForbidden, try("/hooks/c?test=1", body, nil), name)
			multipart := "--x\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\n{\"title\":\"PWNED\"}\r\n--x--\r\n"
			require.Equal(t, http.StatusUnsupportedMediaType,
				try("/hooks/c", multipart, http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}), name)
			require.Nil(t, intake.events)
		})
	}
}

// If a signing credential has no source, the shape of the body decides the source, and the path may not contradict it.
func TestUnsignedPathCannotChangeTheSource(t *testing.T) {
	t.Parallel()
	c := signatures["hmac"]
	try := func(credential server.Credential, path, body string) (int, string, *stubIntake) {
		s, intake := authServer(t, credential)
		r := post(path, body)
		maps.Copy(r.Header, c.sign(body))
		status, _, answer := serve(s.Public(), r)
		return status, string(answer), intake
	}
	alert := `{"alerts":[{"status":"firing","labels":{"alertname":"A"},"startsAt":"2026-11-20T07:00:00Z"}],
		"status":"firing","groupLabels":{},"version":"4","receiver":"r","text":"PWNED"}`
	for _, path := range []string{"/hooks/c", "/hooks/c/alertmanager", "/hooks/c/prometheus"} {
		status, answer, intake := try(c.credential, path, alert)
		require.Equal(t, http.StatusAccepted, status, answer)
		require.Equal(t, "alertmanager", intake.events[0].Source)
	}
	status, answer, intake := try(c.credential, "/hooks/c/slack", alert)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, answer, "signs the body, not the path, and the body looks like alertmanager; "+
		"to read it as slack, set the credential's source to slack")
	require.Nil(t, intake.events)
	bound := c.credential
	bound.Source = "slack"
	for _, path := range []string{"/hooks/c", "/hooks/c/slack"} {
		status, answer, intake = try(bound, path, alert)
		require.Equal(t, http.StatusAccepted, status, answer)
		require.Equal(t, "PWNED", intake.events[0].Title, "the signed text, read as Slack's")
	}
	bound.Source = "cloudevents"
	s, _ := authServer(t, bound)
	r := post("/hooks/c", body)
	maps.Copy(r.Header, c.sign(body))
	r.Header.Set("Ce-Specversion", "1.0")
	status, _, reply := serve(s.Public(), r)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, string(reply), "send it in structured mode")
}

// GitHub names the event only in a header, which is not signed. The header may select how the body is read, and nothing else.
func TestProviderHeaderNamesTheEventOfASignedWebhook(t *testing.T) {
	t.Parallel()
	c := signatures["github"]
	for _, source := range []string{"", "github"} {
		t.Run("source "+source, func(t *testing.T) {
			c.credential.Source = source
			s, intake := authServer(t, c.credential)
			event := `{"action":"created","repository":{"full_name":"a/b","node_id":"x"},"sender":{"login":"me"}}`
			r := post("/hooks/c", event)
			maps.Copy(r.Header, c.sign(event))
			r.Header.Set("X-Github-Event", "star")
			r.Header.Set("X-Team", "PWNED")
			status, _, answer := serve(s.Public(), r)
			require.Equal(t, http.StatusAccepted, status, "%s", answer)
			require.Equal(t, "star-a-b", intake.events[0].Category)
			require.Equal(t, "star", intake.events[0].Labels["event"])
			require.Equal(t, http.Header{"X-Github-Event": {"star"}}, intake.header, "the only header that rules may use")
		})
	}
}

// An update that a tool for Slack signs must name the replaced message in the signed body.
func TestSignedUpdateMustContainItsTimestamp(t *testing.T) {
	t.Parallel()
	c := signatures["hmac"]
	c.credential.Source = "slack"
	s, intake := authServer(t, c.credential)
	update := func(path, body string) string {
		r := post(path, body)
		maps.Copy(r.Header, c.sign(body))
		intake.events = nil
		_, _, answer := serve(s.Public(), r)
		return string(answer)
	}
	require.Contains(t, update("/api/chat.update", `{"channel":"c","ts":"1.2","text":"x"}`), `"ok":true`)
	require.Equal(t, "1.2", intake.events[0].Slack.TS)
	require.Contains(t, update("/api/chat.update?ts=1.2", `{"channel":"c","text":"x"}`), `"ok":false`)
	require.Contains(t, update("/api/chat.update?ts=1.2&channel=c&text=PWNED", ``), `"ok":false`)
	require.Contains(t, update("/api/chat.postMessage?channel=c&text=PWNED", ``), `"ok":false`)
	require.Nil(t, intake.events)
}

// If a channel has several credentials, each has ids of its own: a sender cannot use up the ids of another or change its messages.
func TestIDsAreScopedByCredential(t *testing.T) {
	t.Parallel()
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	relay := newRelay(t, server.Options{Channels: []server.Channel{
		{Name: "several", IngressToken: "1", Credentials: []server.Credential{{Name: "low", Kind: "bearer", Secret: "2"}}},
		{Name: "one", IngressToken: "1"},
		{Name: "open"},
	}})
	deploy := `{"id":"deploy-42","title":"x"}`
	require.Equal(t, "admitted", relay.send("/hooks/several", deploy, bearer("2")))
	require.Equal(t, "admitted", relay.send("/hooks/several", deploy, bearer("1")))
	require.Equal(t, "duplicate", relay.send("/hooks/several", deploy, bearer("1")))
	require.Equal(t, "duplicate", relay.send("/hooks/several", deploy, bearer("2")))
	require.Equal(t, "admitted", relay.send("/hooks/one", deploy, bearer("1")))
	require.Equal(t, "duplicate", relay.send("/hooks/one", deploy, bearer("1")))
	require.Equal(t, "admitted", relay.send("/hooks/open", deploy, nil))
	require.Equal(t, "duplicate", relay.send("/hooks/open", deploy, nil))

	s, intake := authServer(t, server.Credential{Name: "a", Kind: "bearer", Secret: "1"},
		server.Credential{Name: "b", Kind: "bearer", Secret: "2"})
	for token, scope := range map[string]string{"1": "c/a", "2": "c/b"} {
		for path, body := range map[string]string{
			"/hooks/c": body, "/services/c/" + token: `{"text":"x"}`,
			"/api/chat.postMessage": `{"channel":"c","text":"x"}`,
		} {
			r := post(path, body)
			r.Header.Set("Authorization", "Bearer "+token)
			intake.events = nil
			serve(s.Public(), r)
			require.Equal(t, scope, intake.events[0].Scope, path)
		}
	}
	s, intake = authServer(t, server.Credential{Name: "a", Kind: "bearer", Secret: "1"})
	r := post("/hooks/c", body)
	r.Header.Set("Authorization", "Bearer 1")
	serve(s.Public(), r)
	require.Empty(t, intake.events[0].Scope)
}

// From an address that is not allowed, auth.test does not reveal whether a token is valid.
func TestAuthTestIsRefusedFromOtherAddresses(t *testing.T) {
	t.Parallel()
	prefixes, _ := server.ParseAddresses([]string{"192.0.2.7"})
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "a", IngressToken: "tok", AllowFrom: prefixes}, {Name: "b", AllowFrom: prefixes}},
		Intake:   &stubIntake{}, Logger: slog.New(slog.DiscardHandler),
	})
	for remote, ok := range map[string]bool{"192.0.2.7:1": true, "198.51.100.1:1": false} {
		for _, token := range []string{"tok", "no"} {
			r := post("/api/auth.test", "")
			r.RemoteAddr = remote
			r.Header.Set("Authorization", "Bearer "+token)
			_, _, answer := serve(s.Public(), r)
			var reply struct {
				OK   bool   `json:"ok"`
				User string `json:"user"`
			}
			require.NoError(t, json.Unmarshal(answer, &reply))
			require.Equal(t, ok, reply.OK, "%s %s: %s", remote, token, answer)
			if !ok {
				require.JSONEq(t, `{"ok":false,"error":"invalid_auth"}`, string(answer), "the same for every token")
			}
		}
	}
}
