package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/interaction"
	"slackrelay/server"
)

// stubInteractions answers each request with the error of its body's name, or with its text.
type stubInteractions struct {
	off    bool
	bodies []string
}

var interactionErrors = map[string]error{
	"unauthorized": interaction.ErrUnauthorized, "foreign": fmt.Errorf("%w: hush", interaction.ErrForeign),
	"malformed": fmt.Errorf("%w: hush", interaction.ErrMalformed), "busy": fmt.Errorf("%w: hush", interaction.ErrUnavailable),
}

func (s *stubInteractions) TakesRequests() bool { return !s.off }
func (s *stubInteractions) Reasons() []string   { return []string{"no replica has a socket to Slack"} }

func (s *stubInteractions) Post(
	_ context.Context, to interaction.Endpoint, _ http.Header, body []byte, acknowledge func(answer []byte),
) error {
	s.bodies = append(s.bodies, fmt.Sprint(int(to), " ", len(body)))
	if err := interactionErrors[string(body)]; err != nil {
		return err
	}
	if to == interaction.Commands {
		acknowledge([]byte(`{"text":"answer"}`))
		return nil
	}
	acknowledge(nil)
	return nil
}

func TestRequestsBySlack(t *testing.T) {
	t.Parallel()
	stub := &stubInteractions{}
	g := newRefusalServer(func(o *server.Options) { o.Interactions = stub })
	for _, test := range []struct {
		method, path, body string
		status             int
		reply              string
	}{
		{"POST", "/slack/interactions", "payload=x", 200, ""},
		{"POST", "/slack/commands", "text=x", 200, `{"text":"answer"}`},
		{"GET", "/slack/commands?ssl_check=1", "", 200, ""},
		{"GET", "/slack/commands", "", 405, "method_not_allowed"},
		{"POST", "/slack/interactions", "unauthorized", 401, "unauthorized"},
		{"POST", "/slack/interactions", "foreign", 403, "forbidden"},
		{"POST", "/slack/interactions", "malformed", 400, "bad_field"},
		{"POST", "/slack/commands", "busy", 503, "unavailable"},
		{"POST", "/slack/interactions", strings.Repeat("x", interaction.MaxRequest+1), 413, "body_too_large"},
	} {
		r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		status, header, reply := serve(g.Public(), r)
		name := test.method + " " + test.path + " " + test.body[:min(20, len(test.body))]
		require.Equal(t, test.status, status, name)
		require.Contains(t, string(reply), test.reply, name)
		require.NotContains(t, string(reply), "hush", name)
		if status == http.StatusOK && test.reply == "" {
			require.Empty(t, reply, name)
		}
		require.Equal(t, "nosniff", first(header, "X-Content-Type-Options", status, test.method), name)
	}
	require.Len(t, stub.bodies, 6, "nothing that is too large, or not posted")
	require.Equal(t, map[string]float64{
		" unauthorized": 1, " forbidden": 1, " bad_field": 1, " method_not_allowed": 1, " unavailable": 1, " body_too_large": 1,
	}, g.refused(t))
}

// first returns a header of a reply; that to a test of the certificate has none.
func first(header http.Header, name string, status int, method string) string {
	if method == http.MethodGet && status == http.StatusOK {
		return "nosniff"
	}
	return header.Get(name)
}

func TestRequestsBySlackAreOffUnlessConfigured(t *testing.T) {
	t.Parallel()
	for _, interactions := range []server.Interactions{nil, &stubInteractions{off: true}} {
		g := newRefusalServer(func(o *server.Options) { o.Interactions = interactions })
		for _, path := range []string{"/slack/interactions", "/slack/commands"} {
			status, _, reply := serve(g.Public(), httptest.NewRequest(http.MethodPost, path, strings.NewReader("ssl_check=1")))
			require.Equal(t, http.StatusNotFound, status)
			require.Contains(t, string(reply), "slack_signing_secret")
		}
	}
}

// Wrong signatures are delayed as other wrong credentials are: from the 21st on.
func TestWrongSignaturesOfSlackAreDelayed(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	g := newRefusalServer(func(o *server.Options) { o.Interactions, o.WrongCredentialDelay = &stubInteractions{}, delay })
	var last time.Duration
	for range 21 {
		started := time.Now()
		serve(g.Public(), httptest.NewRequest(http.MethodPost, "/slack/interactions", strings.NewReader("unauthorized")))
		last = time.Since(started)
	}
	require.GreaterOrEqual(t, last, delay)
}
