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

// guarded is a server whose refusals are looked at: channel open takes everything, channel tok wants a token.
type guarded struct {
	*server.Server
	guard    *server.Guard
	registry *prometheus.Registry
	log      *bytes.Buffer
}

func newGuarded(change func(o *server.Options)) guarded {
	g := guarded{registry: prometheus.NewRegistry(), log: &bytes.Buffer{}}
	g.guard = server.NewGuard(g.registry)
	opts := server.Options{
		Channels: []server.Channel{{Name: "open", SlackName: "#ops"}, {Name: "tok", IngressToken: "s3cret"}}, Intake: &taken{}, AdminToken: "4dm1n",
		Guard: g.guard, Registry: g.registry, Logger: slog.New(slog.NewTextHandler(g.log, nil)), MaxBody: 1000,
	}
	if change != nil {
		change(&opts)
	}
	g.Server = server.New(opts)
	return g
}

// refused are the counters above 0, as "channel code" = count.
func (g guarded) refused(t *testing.T) map[string]float64 {
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

// listed is what the API says was refused.
func (g guarded) listed(t *testing.T, token string) (list struct {
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

// Whatever is refused is counted by channel and code, named in the log and listed, whichever way it came in.
func TestRefusalsLeaveATrace(t *testing.T) {
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
		"unknown message":    {post("/api/chat.update", `{"channel":"open"}`), "open not_found", "slack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(nil)
			serve(g.Public(), c.request)
			require.Equal(t, map[string]float64{c.counted: 1}, g.refused(t))
			channel, code, _ := strings.Cut(c.counted, " ")
			require.Contains(t, g.log.String(), `level=WARN msg="request refused" code=`+code)
			require.NotContains(t, g.log.String(), "stranger")
			require.NotContains(t, g.log.String(), "ERROR")
			list := g.listed(t, "4dm1n")
			require.Len(t, list.Refusals, 1)
			got := list.Refusals[0]
			require.Equal(t, []any{channel, code, c.source, int64(1), "192.0.2.1"}, []any{got.Channel, string(got.Code), got.Source, got.Count, got.From})
			require.NotEmpty(t, got.Message)
			require.Equal(t, []server.RefusalCount{{Channel: channel, Code: got.Code, Count: 1}}, list.Counts)
			hidden := g.listed(t, "wrong")
			require.False(t, hidden.Texts)
			require.Empty(t, hidden.Refusals[0].From+hidden.Refusals[0].Message, "for those who may not read")
		})
	}
}

// What the limits refuse is in the ledger already, and what is not there for an operator is no refusal.
func TestWhatIsNoRefusal(t *testing.T) {
	t.Parallel()
	g := newGuarded(func(o *server.Options) {
		o.Channels = []server.Channel{{Name: "open", Throttled: []string{"generic"}}}
		o.Intake = &taken{receipt: pipeline.Receipt{Received: 1, Dropped: 1}}
	})
	status, _, _ := serve(g.Public(), post("/hooks/open", `{"title":"x"}`))
	require.Equal(t, http.StatusTooManyRequests, status)
	status, _, _ = serve(g.Ops(), httptest.NewRequest(http.MethodGet, "/api/v1/channels/stranger/preview", nil))
	require.Equal(t, http.StatusNotFound, status)
	require.Empty(t, g.refused(t))
}

// A refusal for the crowd is a line of bounded length that names no channel which is not configured, at WARN.
func TestARefusedCrowdFloodsNoLog(t *testing.T) {
	t.Parallel()
	g := newGuarded(func(o *server.Options) { o.MaxConcurrent = -1 }) // nobody has a place
	serve(g.Public(), post("/hooks/"+strings.Repeat("stranger", 400), "{}"))
	serve(g.Public(), post("/hooks/tok/"+strings.Repeat("source", 400), "{}"))
	require.Equal(t, map[string]float64{" unavailable": 1, "tok unavailable": 1}, g.refused(t))
	require.Equal(t, 2, strings.Count(g.log.String(), "WARN"))
	require.NotContains(t, g.log.String(), "ERROR")
	for line := range strings.Lines(g.log.String()) {
		require.Less(t, len(line), 250, line)
	}
}

// However many are refused, so many are remembered, and strangers do not push out a sender of a channel.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	g := newGuarded(nil)
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
	require.True(t, slices.ContainsFunc(list.Refusals, func(r server.Refusal) bool { return r.Channel == "tok" && r.Count == 3001 }), "a repeat takes no place")
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

// Wrong credentials beyond the first cost time, from that address alone; a right one never does.
func TestWrongCredentialsAreSlowedDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(func(o *server.Options) { o.WrongCredentialDelay = server.DefaultWrongCredentialDelay })
		took := func(token, from string) time.Duration {
			began := time.Now()
			r := post("/hooks/tok", `{"title":"x"}`)
			r.RemoteAddr = from
			r.Header.Set("Authorization", "Bearer "+token)
			serve(g.Public(), r)
			return time.Since(began)
		}
		for range 20 {
			require.Zero(t, took("wrong", "[2001:db8::1]:1"))
		}
		require.Equal(t, time.Second, took("wrong", "[2001:db8::1]:1"))
		require.Equal(t, time.Second, took("wrong", "[2001:db8::2]:1"), "the same network")
		require.Zero(t, took("s3cret", "[2001:db8::1]:1"), "it is right")
		require.Zero(t, took("wrong", "[2001:db8:1::1]:1"), "somebody else")
		time.Sleep(time.Minute)
		require.Zero(t, took("wrong", "[2001:db8::1]:1"), "it was long ago")

		began := time.Now()
		for range 19 {
			status, _ := signIn(t, g.Ops(), "wrong")
			require.Equal(t, http.StatusUnauthorized, status)
		}
		require.Zero(t, time.Since(began))
		signIn(t, g.Ops(), "wrong")
		signIn(t, g.Ops(), "wrong")
		require.Equal(t, time.Second, time.Since(began), "whoever guesses the admin token waits too")
		status, _ := signIn(t, g.Ops(), "4dm1n")
		require.Equal(t, http.StatusNoContent, status)
		require.Equal(t, time.Second, time.Since(began))
	})
}

// However many guess, so many answers are held back, and so many addresses are known.
func TestGuessersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(func(o *server.Options) { o.WrongCredentialDelay, o.MaxConcurrent = time.Second, 10_000 })
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
		require.LessOrEqual(t, g.guard.Guessers(), 4097)
	})
}

// Who tries to sign in and may not is in the audit log.
func TestARefusedSignInIsAudited(t *testing.T) {
	t.Parallel()
	g := newGuarded(nil)
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
