package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
	"slackrelay/server"
)

// refusalServer is a server with its refusals. Channel open accepts everything, and channel tok needs a token.
type refusalServer struct {
	*server.Server
	guard    *server.Guard
	registry *prometheus.Registry
	log      *bytes.Buffer
}

func newRefusalServer(change func(o *server.Options)) refusalServer {
	g := refusalServer{registry: prometheus.NewRegistry(), log: &bytes.Buffer{}}
	g.guard = server.NewGuard(g.registry)
	opts := server.Options{
		Channels: []server.Channel{{Name: "open", SlackName: "#ops"}, {Name: "tok", IngressToken: "s3cret"}}, Intake: &stubIntake{},
		AdminToken: "4dm1n",
		Guard:      g.guard, Registry: g.registry, Logger: slog.New(slog.NewTextHandler(g.log, nil)), MaxBody: 1000,
	}
	if change != nil {
		change(&opts)
	}
	g.Server = server.New(opts)
	return g
}

// refused returns the counters above 0, as "channel code" = count.
func (g refusalServer) refused(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := g.registry.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "relay_requests_refused_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			if n := m.GetCounter().GetValue(); n > 0 {
				all[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = n
			}
		}
	}
	return all
}

// listed returns the refusals in the API.
func (g refusalServer) listed(t *testing.T, token string) (list struct {
	Total    int64
	Texts    bool
	Counts   []server.RefusalCount
	Refusals []server.Refusal
},
) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/v1/refusals", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	status, _, answer := serve(g.Ops(), r)
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, json.Unmarshal(answer, &list))
	return list
}

// A refused request is counted by channel and code, logged and listed, on every endpoint.
func TestRefusalIsCountedLoggedAndListed(t *testing.T) {
	t.Parallel()
	header := func(r *http.Request, name, value string) *http.Request {
		r.Header.Set(name, value)
		return r
	}
	method := func(r *http.Request, method string) *http.Request {
		r.Method = method
		return r
	}
	for name, c := range map[string]struct {
		request *http.Request
		counted string
		source  string
	}{
		"wrong token":        {header(post("/hooks/tok/grafana", "{}"), "Authorization", "Bearer wrong"), "tok unauthorized", "grafana"},
		"no token":           {post("/hooks/tok", "{}"), "tok unauthorized", ""},
		"unknown channel":    {post("/hooks/stranger", "{}"), " unknown_channel", ""},
		"unknown source":     {post("/hooks/open/stranger", "{}"), "open unknown_source", ""},
		"bad JSON":           {post("/hooks/open", "{"), "open bad_json", ""},
		"bad field":          {post("/hooks/open/generic", `{"title":7}`), "open bad_field", "generic"},
		"too large":          {post("/hooks/open", `{"title":"`+strings.Repeat("x", 1000)+`"}`), "open body_too_large", ""},
		"GET":                {method(post("/hooks/open", ""), http.MethodGet), "open method_not_allowed", ""},
		"another path":       {post("/elsewhere", ""), " not_found", ""},
		"services":           {post("/services/tok/wrong", `{"text":"x"}`), "tok unauthorized", "slack"},
		"services elsewhere": {post("/services/stranger/wrong", `{"text":"x"}`), " unknown_channel", "slack"},
		"web":                {post("/api/chat.postMessage", `{"channel":"tok","token":"wrong","text":"x"}`), "tok unauthorized", "slack"},
		"web, Slack's name":  {post("/api/chat.postMessage", `{"channel":"#ops"}`), "open bad_field", "slack"},
		"web elsewhere":      {post("/api/chat.postMessage", `{"channel":"stranger","text":"x"}`), " unknown_channel", "slack"},
		"web, no JSON":       {post("/api/chat.postMessage", `{`), " bad_json", "slack"},
		"unknown method":     {post("/api/stranger", `{}`), " not_found", "slack"},
		"Discord":            {post("/api/webhooks/tok/wrong", `{"content":"x"}`), "tok unauthorized", "discord"},
		"Discord elsewhere":  {post("/api/webhooks/stranger/wrong", `{"content":"x"}`), " unknown_channel", "discord"},
		"Discord for GitHub": {post("/api/webhooks/open/x/github", `{`), "open bad_json", "github"},
		"Teams":              {post("/webhookb2/open/x", `{}`), "open bad_field", "teams"},
		"a workflow":         {post("/workflows/tok/triggers/manual/paths/invoke?sig=wrong", `{}`), "tok unauthorized", "teams"},
		"Google Chat":        {post("/v1/spaces/tok/messages?token=wrong", `{}`), "tok unauthorized", "google_chat"},
		"Mattermost":         {post("/mattermost/hooks/tok/wrong", `{}`), "tok unauthorized", "mattermost"},
		"Mattermost's key":   {post("/mattermost/hooks/stranger", `{}`), "open bad_field", "mattermost"},
		"Opsgenie":           {post("/v2/alerts", `{}`), "open bad_field", "opsgenie"},
		"Opsgenie's action":  {post("/v2/alerts/stranger/stranger", `{}`), "open not_found", "opsgenie"},
		"PagerDuty":          {post("/v2/enqueue", `{"routing_key":"stranger"}`), "open bad_field", "pagerduty_events_v2"},
		"PagerDuty, no JSON": {post("/v2/enqueue", `{`), " bad_json", "pagerduty_events_v2"},
		"unknown message":    {post("/api/chat.update", `{"channel":"open"}`), "open not_found", "slack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRefusalServer(nil)
			serve(g.Public(), c.request)
			require.Equal(t, map[string]float64{c.counted: 1}, g.refused(t))
			channel, code, _ := strings.Cut(c.counted, " ")
			require.Contains(t, g.log.String(), `level=WARN msg="request refused" code=`+code)
			require.NotContains(t, g.log.String(), "stranger")
			require.NotContains(t, g.log.String(), "ERROR")
			list := g.listed(t, "4dm1n")
			require.Len(t, list.Refusals, 1)
			got := list.Refusals[0]
			require.Equal(t, channel, got.Channel)
			require.Equal(t, code, string(got.Code))
			require.Equal(t, c.source, got.Source)
			require.Equal(t, int64(1), got.Count)
			require.Equal(t, "192.0.2.1", got.From)
			require.NotEmpty(t, got.Message)
			require.Equal(t, []server.RefusalCount{{Channel: channel, Code: got.Code, Count: 1}}, list.Counts)
			hidden := g.listed(t, "wrong")
			require.False(t, hidden.Texts)
			require.Empty(t, hidden.Refusals[0].From)
			require.Empty(t, hidden.Refusals[0].Message)
		})
	}
}

// Each counter of a channel is shown from the start, once, so that the first refusal is an increase.
func TestCountersOfRefusalsAreShownFromZero(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(nil)
	shown := func() map[string]float64 {
		families, err := g.registry.Gather()
		require.NoError(t, err)
		all := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				if family.GetName() == "relay_requests_refused_total" {
					all[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
				}
			}
		}
		return all
	}
	before := shown()
	require.Len(t, before, 2+2*11, "two without a channel, and eleven of each channel")
	require.Contains(t, before, "tok unauthorized")
	serve(g.Public(), post("/hooks/tok", "{}"))
	before["tok unauthorized"] = 1
	require.Equal(t, before, shown())
}

// The ledger counts what the limits drop, and a 404 of the ops listener is no refused sender.
func TestThrottledAndMissingAreNotRefusals(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(func(o *server.Options) {
		o.Channels = []server.Channel{{Name: "open", Throttled: []string{"generic"}}}
		o.Intake = &stubIntake{receipt: pipeline.Receipt{Received: 1, Dropped: 1}}
	})
	status, _, _ := serve(g.Public(), post("/hooks/open", `{"title":"x"}`))
	require.Equal(t, http.StatusTooManyRequests, status)
	status, _, _ = serve(g.Ops(), httptest.NewRequest(http.MethodGet, "/api/v1/channels/stranger/preview", nil))
	require.Equal(t, http.StatusNotFound, status)
	require.Empty(t, g.refused(t))
}

// A refusal is a log line of bounded length at WARN that names no unknown channel.
func TestRefusalLogLineIsShort(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(func(o *server.Options) { o.MaxConcurrent = -1 }) // no request is accepted
	serve(g.Public(), post("/hooks/"+strings.Repeat("stranger", 400), "{}"))
	serve(g.Public(), post("/hooks/tok/"+strings.Repeat("source", 400), "{}"))
	require.Equal(t, map[string]float64{" unavailable": 1, "tok unavailable": 1}, g.refused(t))
	require.Equal(t, 2, strings.Count(g.log.String(), "WARN"))
	require.NotContains(t, g.log.String(), "ERROR")
	for line := range strings.Lines(g.log.String()) {
		require.Less(t, len(line), 250, line)
	}
}

// The list is bounded, and requests to unknown channels do not push out those to a configured one.
func TestRefusalListIsBounded(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(nil)
	from := func(r *http.Request, i int) *http.Request {
		r.RemoteAddr = fmt.Sprintf("10.1.%d.%d:1", i/250, i%250)
		return r
	}
	serve(g.Public(), post("/hooks/tok", "{}"))
	for i := range 3000 {
		serve(g.Public(), from(post("/hooks/"+strings.Repeat("é", 5000), "{}"), i))
		serve(g.Public(), post("/hooks/tok", "{}"))
	}
	list := g.listed(t, "4dm1n")
	require.Equal(t, int64(6001), list.Total)
	require.Len(t, list.Refusals, 50)
	repeated := slices.IndexFunc(list.Refusals, func(r server.Refusal) bool { return r.Channel == "tok" })
	require.GreaterOrEqual(t, repeated, 0)
	require.Equal(t, int64(3001), list.Refusals[repeated].Count, "a repeated refusal is counted")
	for _, r := range list.Refusals {
		require.LessOrEqual(t, len(r.Message), 210)
	}
	for i := range 100 {
		serve(g.Public(), from(post("/hooks/tok", "{}"), i))
		serve(g.Public(), from(post("/hooks/stranger", "{}"), i))
	}
	kinds := map[string]int{}
	for _, r := range g.listed(t, "4dm1n").Refusals {
		kinds[r.Channel]++
	}
	require.InDelta(t, 25, kinds["tok"], 1)
}

// Replies to wrong credentials beyond the first are delayed, for that address alone; replies to a valid one never are.
func TestReplyToRepeatedWrongCredentialsIsDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRefusalServer(func(o *server.Options) { o.WrongCredentialDelay = server.DefaultWrongCredentialDelay })
		delay := func(token, from string) time.Duration {
			began := time.Now()
			r := post("/hooks/tok", `{"title":"x"}`)
			r.RemoteAddr = from
			r.Header.Set("Authorization", "Bearer "+token)
			serve(g.Public(), r)
			return time.Since(began)
		}
		for range 20 {
			require.Zero(t, delay("wrong", "[2001:db8::1]:1"))
		}
		require.Equal(t, time.Second, delay("wrong", "[2001:db8::1]:1"))
		require.Equal(t, time.Second, delay("wrong", "[2001:db8::2]:1"), "the same network")
		require.Zero(t, delay("s3cret", "[2001:db8::1]:1"), "it is valid")
		require.Zero(t, delay("wrong", "[2001:db8:1::1]:1"), "another network")
		time.Sleep(time.Minute)
		require.Zero(t, delay("wrong", "[2001:db8::1]:1"), "they are forgiven")

		began := time.Now()
		for range 19 {
			status, _ := signIn(t, g.Ops(), "wrong")
			require.Equal(t, http.StatusUnauthorized, status)
		}
		require.Zero(t, time.Since(began))
		signIn(t, g.Ops(), "wrong")
		signIn(t, g.Ops(), "wrong")
		require.Equal(t, time.Second, time.Since(began), "the same for the admin token")
		status, _ := signIn(t, g.Ops(), "4dm1n")
		require.Equal(t, http.StatusNoContent, status)
		require.Equal(t, time.Second, time.Since(began))
	})
}

// The number of delayed replies and that of remembered addresses are bounded.
func TestDelayedRepliesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRefusalServer(func(o *server.Options) { o.WrongCredentialDelay, o.MaxConcurrent = time.Second, 10_000 })
		handler := g.Public()
		var mu sync.Mutex
		closed := 0
		var all sync.WaitGroup
		for range 400 {
			all.Go(func() {
				_, header, _ := serve(handler, post("/hooks/tok", "{}"))
				mu.Lock()
				defer mu.Unlock()
				if header.Get("Connection") == "close" {
					closed++
				}
			})
		}
		all.Wait()
		require.Equal(t, 400-20-256, closed)
		address := netip.MustParseAddr("10.0.0.0")
		for range 10_000 {
			address = address.Next()
			r := post("/hooks/tok", "{}")
			r.RemoteAddr = address.String() + ":1"
			serve(handler, r)
		}
		require.LessOrEqual(t, g.guard.WrongCredentialNetworks(), 4097)
	})
}

// A refused sign-in is in the audit log.
func TestRefusedSignInIsAudited(t *testing.T) {
	t.Parallel()
	g := newRefusalServer(nil)
	status, _ := signIn(t, g.Ops(), "wr0ng-secret")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, g.log.String(), `level=WARN msg=audit what="sign-in refused" from=192.0.2.1`)
	require.NotContains(t, g.log.String(), "wr0ng-secret")
	r := httptest.NewRequest(http.MethodPost, "/api/v1/channels/open/pause", nil)
	r.Header.Set("Authorization", "Bearer wr0ng-secret")
	serve(g.Ops(), r)
	require.Equal(t, map[string]float64{" unauthorized": 1, "open unauthorized": 1}, g.refused(t))
	require.Equal(t, "POST /login", g.listed(t, "4dm1n").Refusals[1].Route)
}
