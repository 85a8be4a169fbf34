package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// opsServer is a server whose ops listener is reachable from other machines.
func opsServer() *server.Server {
	return opsServerOf(memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}))
}

func opsServerOf(limiter *memory.Store) *server.Server {
	window := ratelimit.Window{Limit: 3, Per: time.Minute}
	status := pipeline.NewStatusReader(limiter, []pipeline.Channel{{Name: "alerts", Tiers: levels(window, window)}}, nil, nil)
	return server.New(server.Options{
		Channels: []server.Channel{{Name: "alerts"}, {Name: "sent"}}, AdminToken: "4dm1n", Registry: prometheus.NewRegistry(),
		Logger: slog.New(slog.DiscardHandler),
		Status: status,
		Config: func() server.ConfigState { return server.ConfigState{Hash: "abc"} },
		Previews: func(channel string) ([]notifier.Message, bool) {
			return []notifier.Message{
				notifier.Renderer{}.Render(events.Event{Title: "first"}),
				notifier.Renderer{}.Render(events.Event{Title: "second", Severity: events.Critical}),
			}, channel == "alerts"
		},
	})
}

func signIn(t *testing.T, ops http.Handler, token string) (int, []*http.Cookie) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	ops.ServeHTTP(w, r)
	return w.Code, w.Result().Cookies()
}

func TestDashboardLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	ops := opsServer().Ops()
	for path, media := range map[string]string{
		"/": "text/html", "/assets/app.js": "text/javascript", "/assets/format.js": "text/javascript", "/assets/app.css": "text/css",
		"/assets/lit-html.js": "text/javascript",
		"/assets/uplot.js":    "text/javascript", "/assets/uplot.css": "text/css", "/assets/icon.svg": "image/svg+xml",
	} {
		t.Run(path, func(t *testing.T) {
			status, header, body := serve(ops, httptest.NewRequest(http.MethodGet, path, nil))
			require.Equal(t, http.StatusOK, status, path)
			require.Contains(t, header.Get("Content-Type"), media, path)
			require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'self'")
			require.NotRegexp(t, `(src|href)=["']?https?:|import .*https?:|fetch\(["']https?:`, string(body), path)
		})
	}
	for _, path := range []string{"/assets/nothing.js", "/assets/index.html/x", "/nothing"} {
		t.Run(path, func(t *testing.T) {
			status, _, _ := serve(ops, httptest.NewRequest(http.MethodGet, path, nil))
			require.Equal(t, http.StatusNotFound, status, path)
		})
	}
}

// The cookie of a session is valid on every replica with the same token, and only unchanged.
func TestSessionCookieIsValidOnlyAsIssued(t *testing.T) {
	t.Parallel()
	ops := opsServer().Ops()
	status, cookies := signIn(t, ops, "wrong")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Empty(t, cookies)
	status, cookies = signIn(t, ops, "4dm1n")
	require.Equal(t, http.StatusNoContent, status)
	cookie := cookies[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.NotContains(t, cookie.Value, "4dm1n")

	preview := func(change func(c *http.Cookie)) (texts bool) {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/channels/alerts/preview", nil)
		c := *cookie
		change(&c)
		r.AddCookie(&c)
		_, _, answer := serve(ops, r)
		var reply struct{ Texts bool }
		require.NoError(t, json.Unmarshal(answer, &reply))
		return reply.Texts
	}
	require.True(t, preview(func(*http.Cookie) {}))
	_, other := signIn(t, opsServer().Ops(), "4dm1n")
	require.True(t, preview(func(c *http.Cookie) { c.Value = other[0].Value }), "from another replica")
	until, signature, _ := strings.Cut(cookie.Value, ".")
	for _, value := range []string{"", "x", until, until + ".", "1." + signature, "9" + cookie.Value, cookie.Value + "0", "1.00"} {
		require.False(t, preview(func(c *http.Cookie) { c.Value = value }), value)
	}
	open := server.New(server.Options{Registry: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler)})
	status, _ = signIn(t, open.Ops(), "")
	require.Equal(t, http.StatusUnauthorized, status, "no token is configured")
}

func TestPreviewListsMessagesNewestFirst(t *testing.T) {
	t.Parallel()
	ops := opsServer().Ops()
	get := func(channel, token string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/channels/"+channel+"/preview", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		status, _, answer := serve(ops, r)
		return status, strings.TrimSpace(string(answer))
	}
	_, answer := get("alerts", "4dm1n")
	require.Contains(t, answer, `{"messages":[{"headline":"🔴 second"`, "the newest first")
	require.Contains(t, answer, `"kind":"critical"},{"headline":"`)
	require.Contains(t, answer, `"shown":true`)
	_, answer = get("alerts", "wrong")
	require.JSONEq(t, `{"messages":[],"shown":true,"texts":false}`, answer)
	_, answer = get("sent", "4dm1n")
	require.Contains(t, answer, `"shown":false`)
	status, _ := get("nowhere", "4dm1n")
	require.Equal(t, http.StatusNotFound, status)
}

// The stream sends what changed each second, and ends when this server is replaced or stops.
func TestStreamSendsChangesUntilShutdown(t *testing.T) {
	t.Parallel()
	limiter := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	s := opsServerOf(limiter)
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- server.Serve(ctx, listener, s.Ops(),
			server.ServeOptions{Logger: slog.New(slog.DiscardHandler), Grace: 20 * time.Second, Stopping: s.Retire})
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/api/v1/stream", nil)
	require.NoError(t, err)
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	for range 2 {
		require.True(t, lines.Scan())
		var reply struct {
			Ready    struct{ Status string }
			Shared   map[string]any
			Channels []struct{ Channel string }
			Config   string
			May      map[string]bool
		}
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &reply), lines.Text())
		require.Equal(t, "ok", reply.Ready.Status)
		require.Equal(t, "alerts", reply.Channels[0].Channel)
		require.Equal(t, "abc", reply.Config)
		require.Equal(t, map[string]any{"redis": "none", "replicas": 1.0}, reply.Shared)
		require.Equal(t, map[string]bool{"read": false, "change": false, "token": true}, reply.May)
		require.True(t, lines.Scan(), "an empty line")
		require.NoError(t, limiter.CountMuted(t.Context(), store.Channel{Group: "alerts", Name: "alerts"}, 1))
	}
	cancel()
	require.False(t, lines.Scan(), "the stream ended")
	require.NoError(t, <-stopped)
}

// A page of another site cannot change anything, even with the cookie of a browser.
func TestCrossSiteRequestsAreRefused(t *testing.T) {
	t.Parallel()
	ops := opsServer().Ops()
	_, cookies := signIn(t, ops, "4dm1n")
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		t.Run(header, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/api/v1/channels/alerts/resume", nil)
			r.AddCookie(cookies[0])
			r.Header.Set(header, value)
			status, _, _ := serve(ops, r)
			require.Equal(t, http.StatusForbidden, status)
		})
	}
}
