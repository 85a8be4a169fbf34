package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
	"slackrelay/problem"
	"slackrelay/server"
	"slackrelay/store/memory"
)

func TestHeartbeatsNeedACredentialOfTheirChannel(t *testing.T) {
	t.Parallel()
	heartbeat := func(name, channel string) pipeline.Heartbeat {
		return pipeline.Heartbeat{Heartbeat: problem.Heartbeat{Name: name, Every: time.Hour, Grace: time.Minute}, Channel: channel}
	}
	const ignored = `{"ignored":true}`
	signature := hmac.New(sha256.New, []byte("k3y"))
	signature.Write([]byte(ignored))
	signed := [2]string{"X-Signature", hex.EncodeToString(signature.Sum(nil))}
	s := server.New(server.Options{
		Channels: []server.Channel{
			{Name: "open"},
			{Name: "guarded", IngressToken: "s3cret", Credentials: []server.Credential{
				{Name: "ann", Kind: "basic", Username: "ann", Secret: "pa55"},
				{Name: "ci", Kind: "hmac", Header: "X-Signature", Secret: "k3y"},
			}},
		},
		Heartbeats: pipeline.NewHeartbeats(pipeline.HeartbeatOptions{
			Heartbeats: []pipeline.Heartbeat{heartbeat("job", "guarded"), heartbeat("free", "open")},
			Channels:   []pipeline.Channel{{Name: "open"}, {Name: "guarded"}},
			Store:      memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), Memory: pipeline.NewHeartbeatMemory(),
		}),
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	for _, test := range []struct {
		name, method, path string
		header             [2]string
		status             int
		body               string
	}{
		{"bearer", "POST", "/heartbeats/job", [2]string{"Authorization", "Bearer s3cret"}, 202, `"heartbeat":"job","channel":"guarded"`},
		{"basic", "PUT", "/heartbeats/job", [2]string{"Authorization", "Basic YW5uOnBhNTU="}, 202, ""},
		{"in the path", "GET", "/heartbeats/job/s3cret", [2]string{}, 202, ""},
		{"in the query", "HEAD", "/heartbeats/job?token=s3cret", [2]string{}, 202, ""},
		{"of another product", "POST", "/heartbeats/job", [2]string{"Authorization", "Bearer other"}, 401, `"code":"unauthorized"`},
		{"none", "POST", "/heartbeats/job", [2]string{}, 401, ""},
		{"a signature does not cover the path", "POST", "/heartbeats/job", signed, 401, `signs the body, not the path`},
		{"a channel without a credential", "GET", "/heartbeats/free", [2]string{}, 202, ""},
		{"a page in a browser", "GET", "/heartbeats/free", [2]string{"Origin", "https://evil.example"}, 403, `"code":"forbidden"`},
		{"unknown", "GET", "/heartbeats/nobody", [2]string{}, 404, `"code":"unknown_heartbeat"`},
		{"another method", "DELETE", "/heartbeats/free", [2]string{}, 405, `"code":"method_not_allowed"`},
		{"opsgenie", "POST", "/v2/heartbeats/job/ping", [2]string{"Authorization", "GenieKey s3cret"}, 202, `"PONG - Heartbeat received"`},
		{"opsgenie by patch", "PATCH", "/v2/heartbeats/job/ping?apiKey=s3cret", [2]string{}, 202, `"requestId"`},
		{"opsgenie with a wrong key", "GET", "/v2/heartbeats/job/ping", [2]string{"Authorization", "GenieKey x"}, 401, `"requestId"`},
		{"opsgenie, unknown", "GET", "/v2/heartbeats/nobody/ping", [2]string{}, 404, `"message":"no heartbeat is called`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), test.method, test.path, strings.NewReader(ignored))
			r.Header.Set("Content-Type", "application/x-anything")
			if test.header[0] != "" {
				r.Header.Set(test.header[0], test.header[1])
			}
			status, _, body := serve(s.Public(), r)
			require.Equal(t, test.status, status, "%s", body)
			require.Contains(t, string(body), test.body)
		})
	}
	status, _, body := serve(s.Ops(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/heartbeats", nil))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(body), `{"name":"free","channel":"open","state":"waiting","every":3600,"grace":60,`)
}
