package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/server"
)

// An ops listener on a loopback address refuses requests for another host name, because a page of that host could read the reply.
func TestLocalOpsListenerRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	previews := func(string) ([]notifier.Message, bool) {
		return []notifier.Message{notifier.Renderer{}.Render(events.Event{Title: "private"})}, true
	}
	local := newRefusalServer(func(o *server.Options) { o.Local, o.Previews = true, previews })
	elsewhere := newRefusalServer(func(o *server.Options) { o.Previews = previews })
	get := func(g refusalServer, host string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/channels/open/preview", nil)
		r.Host = host
		status, _, answer := serve(g.Ops(), r)
		return status, string(answer)
	}
	for _, host := range []string{
		"localhost", "localhost:9090", "LOCALHOST:1", "127.0.0.1:9090", "127.1.2.3", "[::1]:9090", "[::1]",
		"::1", "[::ffff:127.0.0.1]:80", "",
	} {
		t.Run(host, func(t *testing.T) {
			status, answer := get(local, host)
			require.Equal(t, http.StatusOK, status, host)
			require.Contains(t, answer, "private")
		})
	}
	hostile := []string{
		"rebind.test:19092", "rebind.test", "localhost.rebind.test", "127.0.0.1.rebind.test:9090", "127.0.0.1.nip.io", "localhost.",
		"10.0.0.1:9090", "0.0.0.0:9090", "[::]:9090", "2130706433",
	}
	for _, host := range hostile {
		t.Run(host, func(t *testing.T) {
			status, answer := get(local, host)
			require.Equal(t, http.StatusMisdirectedRequest, status, host)
			require.Contains(t, answer, `"code":"misdirected"`)
			require.NotContains(t, answer, "private")
			status, _ = get(elsewhere, host)
			require.Equal(t, http.StatusOK, status, "on another address the token protects it")
		})
	}
	require.Equal(t, map[string]float64{" misdirected": float64(len(hostile))}, local.refused(t))
}

// A channel without credentials refuses requests from pages in a browser; anybody could make a browser send them.
func TestOpenChannelRefusesRequestsFromPages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers map[string]string
		accepts bool
	}{
		"a program":           {nil, true},
		"the address bar":     {map[string]string{"Sec-Fetch-Site": "none"}, true},
		"another site":        {map[string]string{"Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}, false},
		"a site beside":       {map[string]string{"Sec-Fetch-Site": "same-site"}, false},
		"a name pointed here": {map[string]string{"Sec-Fetch-Site": "same-origin"}, false},
		"an older browser":    {map[string]string{"Origin": "https://evil.example"}, false},
		"a file":              {map[string]string{"Origin": "null"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRefusalServer(nil)
			try := func(path, body string) int {
				r := post(path, body)
				for name, value := range c.headers {
					r.Header.Set(name, value)
				}
				status, _, answer := serve(g.Public(), r)
				if strings.Contains(string(answer), "not_authed") { // no channel accepts a page
					return http.StatusForbidden
				}
				return status
			}
			want := map[bool]int{true: http.StatusAccepted, false: http.StatusForbidden}[c.accepts]
			require.Equal(t, want, try("/hooks/open", `{"title":"x"}`), name)
			if !c.accepts {
				require.Equal(t, want, try("/services/open/x", `{"text":"x"}`), name)
				require.Equal(t, want, try("/api/chat.postMessage", `{"channel":"open","text":"x"}`), name)
				require.Equal(t, map[string]float64{"open forbidden": 2, " unauthorized": 1}, g.refused(t), name)
			}
			require.Equal(t, http.StatusUnauthorized, try("/hooks/tok", `{}`), "the credential decides")
		})
	}
}

func TestSignOutInvalidatesTheSession(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(nil)
	ops := g.Ops()
	_, cookies := signIn(t, ops, "4dm1n")
	_, others := signIn(t, ops, "4dm1n")
	require.NotEqual(t, cookies[0].Value, others[0].Value, "each session has its own cookie")
	act := func(path string, cookie *http.Cookie) (int, http.Header) {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.AddCookie(cookie)
		status, header, _ := serve(ops, r)
		return status, header
	}
	// A valid session gets 400 for the invalid body.
	const change = "/api/v1/channels/open/pause?"
	changes := func(cookie *http.Cookie) bool {
		r := httptest.NewRequest(http.MethodPost, change, strings.NewReader(`{"for":"x"}`))
		r.AddCookie(cookie)
		status, _, _ := serve(ops, r)
		return status == http.StatusBadRequest
	}
	require.True(t, changes(cookies[0]))
	status, header := act("/logout", cookies[0])
	require.Equal(t, http.StatusNoContent, status)
	require.Regexp(t, `^relay_session=; Path=/; Expires=Thu, 01 Jan 1970`, header.Get("Set-Cookie"))
	require.False(t, changes(cookies[0]), "a copy of the cookie is no longer good")
	require.True(t, changes(others[0]))
	require.Contains(t, g.log.String(), `what="signed out"`)
	status, _ = act("/logout", &http.Cookie{Name: "relay_session", Value: "x"})
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, 1, strings.Count(g.log.String(), "signed out"), "an invalid session is not logged")
}

// If the sign-in came by TLS, here or at a trusted proxy, the cookie is sent by TLS only.
func TestCookieIsSecureIfTheRequestCameByTLS(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(func(o *server.Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	for _, c := range []struct {
		from, proto string
		secure      bool
	}{{"10.1.2.3:5", "https", true}, {"10.1.2.3:5", "http", false}, {"10.1.2.3:5", "", false}, {"192.0.2.1:5", "https", false}} {
		r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(url.Values{"token": {"4dm1n"}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Forwarded-Proto", c.proto)
		r.RemoteAddr = c.from
		w := httptest.NewRecorder()
		g.Ops().ServeHTTP(w, r)
		require.Equal(t, c.secure, w.Result().Cookies()[0].Secure, "%+v", c)
	}
}

// An invalid id never reaches Redis, whose error would look like an outage.
func TestInvalidEntryIDIsRefusedBeforeRedis(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(nil)
	for _, before := range []string{"*", "+", "-", "(", "x", "1-", "1-2-3", "99999999999999999999", "1 2", strings.Repeat("1", 5000)} {
		t.Run(before, func(t *testing.T) {
			for _, list := range []string{"dead", "drops"} {
				status, _, answer := serve(g.Ops(), httptest.NewRequest(http.MethodGet,
					"/api/v1/channels/open/"+list+"?before="+url.QueryEscape(before), nil))
				require.Equal(t, http.StatusBadRequest, status, before)
				require.Contains(t, string(answer), "is not an id of this list")
				require.Less(t, len(answer), 500)
			}
		})
	}
	r := httptest.NewRequest(http.MethodDelete, "/api/v1/channels/open/dead/*", nil)
	r.Header.Set("Authorization", "Bearer 4dm1n")
	status, _, _ := serve(g.Ops(), r)
	require.Equal(t, http.StatusNotFound, status)
	require.NotContains(t, g.log.String(), "ERROR")
}

func TestDisabledTestLaneRefusesTestWebhooks(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(func(o *server.Options) { o.NoTestLane = true })
	status, _, answer := serve(g.Public(), post("/hooks/open?test=1", `{"title":"x"}`))
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, string(answer), "test_lane is false")
	status, _, _ = serve(g.Public(), post("/hooks/open?test=0", `{"title":"x"}`))
	require.Equal(t, http.StatusAccepted, status)
	status, _, _ = serve(g.Public(), post("/services/open/x?test=1", `{"text":"x"}`))
	require.Equal(t, http.StatusForbidden, status)
}

// panickingIntake is an intake with a bug.
type panickingIntake struct{}

func (panickingIntake) Admit(context.Context, pipeline.Arrival) (pipeline.Receipt, error) {
	panic(fmt.Sprint("a fault ", strings.Repeat("x", 10_000)))
}

// A panic is counted and logged at ERROR with its stack; the connection ends as without the relay's handler.
func TestPanicIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(func(o *server.Options) { o.Intake = panickingIntake{} })
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { serve(g.Public(), post("/hooks/open", `{"title":"x"}`)) })
	require.Contains(t, g.log.String(), `level=ERROR msg="handler panicked" route=/hooks/{channel} panic="a fault xxx`)
	require.Contains(t, g.log.String(), "panickingIntake.Admit")
	require.Less(t, g.log.Len(), 6000)
	families, err := g.registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "relay_panics_total" {
			require.InDelta(t, 1, family.GetMetric()[0].GetCounter().GetValue(), 0)
		}
	}
}
