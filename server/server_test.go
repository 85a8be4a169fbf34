package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/store"
	"slackrelay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a server on the in-memory engines; nothing delivers.
type bundle struct {
	*server.Server
	limiter store.Limiter
	log     *bytes.Buffer
}

func setup(tb testing.TB) bundle {
	tb.Helper()
	limiter := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	window := func(limit int64) ratelimit.Window { return ratelimit.Window{Limit: limit, Per: 30 * time.Minute} }
	channels := []pipeline.Channel{
		{Name: "open", Tiers: tiers(window(3), window(2)), Pace: store.Pace{Burst: 1}},
		{Name: "guarded", Tiers: tiers(window(3), window(2)), Pace: store.Pace{Burst: 1}},
	}
	registry := prometheus.NewRegistry()
	status := pipeline.NewStatus(limiter, channels, nil, nil)
	registry.MustRegister(server.NewGauges(func() *pipeline.Status { return status }))
	log := &bytes.Buffer{}
	return bundle{limiter: limiter, log: log, Server: server.New(server.Options{
		Channels: []server.Channel{{Name: "open"}, {Name: "guarded", IngressToken: "s3cret"}},
		Intake: pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: limiter, Channels: channels, Metrics: pipeline.NewMetrics(registry), Admitted: func(string) {},
		}),
		Status: status, Registry: registry, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})}
}

func (b bundle) nothingStored(t *testing.T) {
	t.Helper()
	for _, channel := range []string{"open", "guarded"} {
		report, err := b.limiter.Report(t.Context(), store.Channel{Group: channel, Name: channel})
		require.NoError(t, err)
		require.Equal(t, store.Report{}, report)
	}
}

func serve(handler http.Handler, r *http.Request) (int, http.Header, []byte) {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.Bytes()
}

func post(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

func TestErrorTable(t *testing.T) {
	t.Parallel()
	with := func(name, value string) func(r *http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	method := func(m string) func(r *http.Request) { return func(r *http.Request) { r.Method = m } }
	none := func(*http.Request) {}
	ok := `{"title":"x"}`
	for name, c := range map[string]struct {
		path, body string
		change     func(r *http.Request)
		status     int
		code, says string
	}{
		"empty body":           {"/hooks/open", "", none, 400, "empty_body", "the body is empty"},
		"not JSON":             {"/hooks/open", "disk full", none, 400, "bad_json", "must be a JSON object"},
		"wrong type":           {"/hooks/open", `{"title":7}`, none, 400, "bad_field", "title must be a string, not a number"},
		"no events":            {"/hooks/open", `[]`, none, 400, "no_events", "no events"},
		"deep nesting":         {"/hooks/open", strings.Repeat(`{"a":`, 100_000), none, 400, "bad_json", "nested more than 100 deep"},
		"invalid UTF-8":        {"/hooks/open", "{\"title\":\"\xff\"}", none, 400, "bad_json", "not valid UTF-8 at byte 10"},
		"1 MiB and 1":          {"/hooks/open", `{"title":"` + strings.Repeat("x", 1<<20-11) + `"}`, none, 413, "body_too_large", "more than 1048576 bytes"},
		"1,001 events":         {"/hooks/open", "[" + strings.Repeat(ok+",", 1000) + ok + "]", none, 413, "too_many_events", "1001 events, at most 1000"},
		"unknown channel":      {"/hooks/nowhere", ok, none, 404, "unknown_channel", `no channel is called "nowhere"`},
		"unknown source":       {"/hooks/open/nagios", ok, none, 404, "unknown_source", "one of alertmanager, argocd"},
		"another path":         {"/hook/open", ok, none, 404, "not_found", "/hooks/{channel}"},
		"no token":             {"/hooks/guarded", ok, none, 401, "unauthorized", "Authorization: Bearer <token>"},
		"wrong token":          {"/hooks/guarded", ok, with("Authorization", "Bearer wrong"), 401, "unauthorized", "ingress token"},
		"no scheme":            {"/hooks/guarded", ok, with("Authorization", "s3cret"), 401, "unauthorized", "ingress token"},
		"another scheme":       {"/hooks/guarded", ok, with("Authorization", "Basic s3cret"), 401, "unauthorized", "ingress token"},
		"GET":                  {"/hooks/open", "", method(http.MethodGet), 405, "method_not_allowed", "by POST, not by GET"},
		"PUT":                  {"/hooks/open/generic", ok, method(http.MethodPut), 405, "method_not_allowed", "not by PUT"},
		"XML":                  {"/hooks/open", "<a/>", with("Content-Type", "application/xml"), 415, "unsupported_media_type", "application/xml"},
		"nonsense type":        {"/hooks/open", ok, with("Content-Type", "json;;="), 415, "unsupported_media_type", "not understood"},
		"compressed":           {"/hooks/open", ok, with("Content-Encoding", "br"), 415, "unsupported_media_type", `"br" is not supported`},
		"a form without field": {"/hooks/open", "a=b", with("Content-Type", "application/x-www-form-urlencoded"), 400, "bad_field", "title or text is needed"},
		"a broken multipart":   {"/hooks/open", "a=b", with("Content-Type", "multipart/form-data; boundary=x"), 400, "bad_json", "multipart"},
		"no payload in it":     {"/hooks/open", "--x--\r\n", with("Content-Type", "multipart/form-data; boundary=x"), 400, "empty_body", "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			r := post(c.path, c.body)
			c.change(r)
			status, header, answer := serve(b.Public(), r)
			require.Equal(t, c.status, status, "%s", answer)
			require.Equal(t, "application/json; charset=utf-8", header.Get("Content-Type"))
			var reply struct {
				Error struct{ Code, Message string }
			}
			require.NoError(t, json.Unmarshal(answer, &reply))
			require.Equal(t, c.code, reply.Error.Code)
			require.Contains(t, reply.Error.Message, c.says)
			b.nothingStored(t)
			switch status {
			case http.StatusMethodNotAllowed:
				require.Equal(t, "POST", header.Get("Allow"))
			case http.StatusUnauthorized:
				require.Contains(t, header.Get("WWW-Authenticate"), "Bearer")
			}
		})
	}
}

func TestABodyOfExactlyOneMiB(t *testing.T) {
	t.Parallel()
	status, _, answer := serve(setup(t).Public(), post("/hooks/open", `{"title":"`+strings.Repeat("x", 1<<20-12)+`"}`))
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
}

func TestReceipt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	status, _, answer := serve(b.Public(), post("/hooks/open", `[
		{"title":"1","category":"Errors","id":"1"}, {"title":"1 again","category":"errors","id":"1"},
		{"title":"2","category":"errors","id":"2"}, {"title":"3","category":"errors","id":"3"}]`))
	require.Equal(t, http.StatusAccepted, status)
	var receipt map[string]any
	require.NoError(t, json.Unmarshal(answer, &receipt))
	list, _ := receipt["events"].([]any)
	last, _ := list[3].(map[string]any)
	require.InDelta(t, 1800, last["retry_after"], 5)
	last["retry_after"] = "exact elsewhere"
	require.Equal(t, map[string]any{
		"received": 4.0, "admitted": 2.0, "dropped": 1.0, "duplicate": 1.0, "muted": 0.0, "merged": 0.0, "delayed": 0.0, "durable": false,
		"events": []any{
			map[string]any{"id": "1", "category": "errors", "outcome": "admitted"},
			map[string]any{"id": "1", "category": "errors", "outcome": "duplicate"},
			map[string]any{"id": "2", "category": "errors", "outcome": "admitted"},
			map[string]any{"id": "3", "category": "errors", "outcome": "dropped", "level": "category", "retry_after": "exact elsewhere"},
		},
	}, receipt)
}

func TestWhatSendersPackJSONIn(t *testing.T) {
	t.Parallel()
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	require.NoError(t, writer.WriteField("payload", `{"title":"x"}`))
	require.NoError(t, writer.Close())
	for name, c := range map[string]struct{ contentType, body string }{
		"no type":        {"", `{"title":"x"}`},
		"JSON":           {"application/json; charset=utf-8", `{"title":"x"}`},
		"a JSON type":    {"application/vnd.acme+json", `{"title":"x"}`},
		"text":           {"text/plain", `{"title":"x"}`},
		"curl -d":        {"application/x-www-form-urlencoded", ` {"title":"x"}`},
		"a form":         {"application/x-www-form-urlencoded", "payload=" + url.QueryEscape(`{"title":"x"}`)},
		"multipart form": {writer.FormDataContentType(), form.String()},
	} {
		r := post("/hooks/open", c.body)
		r.Header.Set("Content-Type", c.contentType)
		if c.contentType == "" {
			r.Header.Del("Content-Type")
		}
		status, _, answer := serve(setup(t).Public(), r)
		require.Equal(t, http.StatusAccepted, status, "%s: %s", name, answer)
	}
}

// taken records what the intake was given.
type taken struct {
	sender string
	header http.Header
	events []events.Event
	err    error

	receipt pipeline.Receipt // the answer
}

func (s *taken) Take(_ context.Context, a pipeline.Arrival) (pipeline.Receipt, error) {
	s.sender, s.header, s.events = a.Sender, a.Header, a.Events
	return s.receipt, s.err
}

func TestTheSender(t *testing.T) {
	t.Parallel()
	intake := &taken{}
	s := server.New(server.Options{Channels: []server.Channel{{Name: "open"}, {Name: "guarded", IngressToken: "s3cret"}}, Intake: intake, Logger: slog.New(slog.DiscardHandler)})
	r := post("/hooks/open", `{"title":"x"}`)
	r.RemoteAddr = "[2001:db8::7]:4711"
	serve(s.Public(), r)
	require.Equal(t, "2001:db8::7", intake.sender)
	r = post("/hooks/guarded/generic", `{"title":"x"}`)
	r.Header.Set("Authorization", "bearer s3cret")
	serve(s.Public(), r)
	require.Equal(t, "default", intake.sender)
}

func TestWhatFailsInside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"limiter away":  {fmt.Errorf("x: %w", store.ErrUnavailable), 503, "unavailable"},
		"anything else": {errors.New("secret detail"), 500, "internal"},
	} {
		log := &bytes.Buffer{}
		s := server.New(server.Options{Channels: []server.Channel{{Name: "open"}}, Intake: &taken{err: c.err}, Logger: slog.New(slog.NewTextHandler(log, nil))})
		status, header, answer := serve(s.Public(), post("/hooks/open", `{"title":"x"}`))
		require.Equal(t, c.status, status, name)
		require.Contains(t, string(answer), c.code)
		require.NotContains(t, string(answer), "secret detail")
		require.Equal(t, 1, strings.Count(log.String(), "request failed"), "logged once, at the edge")
		require.Equal(t, c.status == 503, header.Get("Retry-After") != "")
	}
}

func TestOps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	get := func(path string) (int, string) {
		status, _, answer := serve(b.Ops(), httptest.NewRequest(http.MethodGet, path, nil))
		return status, strings.TrimSpace(string(answer))
	}
	serve(b.Public(), post("/hooks/open", `[{"title":"1","category":"a"},{"title":"2","category":"a"},{"title":"3","category":"a"},{"title":"4","category":"b"}]`))

	status, answer := get("/healthz")
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"status":"ok"}`, answer)
	status, answer = get("/readyz")
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"status":"ok","reasons":[]}`, answer)

	status, answer = get("/api/v1/channels/open")
	require.Equal(t, 200, status)
	var channel map[string]any
	require.NoError(t, json.Unmarshal([]byte(answer), &channel))
	levels, _ := channel["levels"].([]any)
	level, _ := levels[0].(map[string]any)
	require.InDelta(t, 1800, level["retry_after"], 5)
	level["retry_after"] = 0.0
	categories, _ := channel["categories"].([]any)
	full, _ := categories[0].(map[string]any)
	require.InDelta(t, 1800, full["retry_after"], 5)
	full["retry_after"] = 0.0
	want := map[string]any{
		"channel": "open",
		"levels":  []any{map[string]any{"level": "channel", "limit": 3.0, "per": 1800.0, "used": 3.0, "retry_after": 0.0}},
		"ledger": map[string]any{
			"received": 4.0, "admitted": 3.0, "dropped": 1.0, "duplicate": 0.0, "muted": 0.0, "merged": 0.0, "delayed": 0.0,
			"delivered": 0.0, "failed": 0.0, "expired": 0.0, "superseded": 0.0, "pending": 3.0, "forced": 0.0,
		},
		"categories": []any{
			map[string]any{"category": "a", "used": 2.0, "limit": 2.0, "per": 1800.0, "retry_after": 0.0, "admitted": 2.0, "dropped": 1.0},
			map[string]any{"category": "b", "used": 1.0, "limit": 2.0, "per": 1800.0, "retry_after": 0.0, "admitted": 1.0, "dropped": 0.0},
		},
		"state": map[string]any{"paused_until": nil, "reason": ""}, "oldest_seconds": 0.0,
	}
	require.Positive(t, channel["oldest_seconds"])
	channel["oldest_seconds"] = 0.0
	require.Equal(t, want, channel)

	status, answer = get("/api/v1/channels")
	require.Equal(t, 200, status)
	var all struct{ Channels []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(answer), &all))
	require.Len(t, all.Channels, 2)
	require.NotContains(t, all.Channels[0], "categories")
	require.Equal(t, want["ledger"], all.Channels[0]["ledger"])

	status, answer = get("/api/v1/channels/nowhere")
	require.Equal(t, 404, status)
	require.Contains(t, answer, "unknown_channel")

	_, answer = get("/metrics")
	for _, sample := range []string{
		`relay_events_received_total{channel="open",source="generic"} 4`,
		`relay_events_total{category="a",channel="open",level="category",outcome="dropped"} 1`,
		`relay_events_total{category="b",channel="open",level="",outcome="admitted"} 1`,
		`relay_limiter_decisions_total{decided_by="memory"} 4`,
		`relay_outbox_pending{channel="open"} 3`,
		`relay_limit_used{channel="open",level="channel"} 3`,
		`relay_ledger_imbalance{channel="open"} 0`,
		`relay_channel_paused{channel="open",reason=""} 0`,
		"relay_redis_up 1",
	} {
		require.Contains(t, answer+"\n", sample+"\n")
	}

	b.Drain()
	status, answer = get("/readyz")
	require.Equal(t, 503, status)
	require.Contains(t, answer, "draining")
	status, header, _ := serve(b.Public(), post("/hooks/open", `{"title":"still taken"}`))
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, "close", header.Get("Connection"), "the sender's next webhook goes to another replica")
}

// Requests in hand end well when the server stops.
func TestServeStops(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	inHand, finish := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(inHand)
		<-finish
		io.WriteString(w, "done")
	})
	stopped := make(chan error, 1)
	go func() {
		stopped <- server.Serve(ctx, listener, handler, server.ServeOptions{Logger: slog.New(slog.DiscardHandler), Grace: 10 * time.Second})
	}()
	answered := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + listener.Addr().String())
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answered <- string(body)
	}()
	<-inHand
	cancel()
	close(finish)
	require.Equal(t, "done", <-answered)
	require.NoError(t, <-stopped)
	http.DefaultClient.CloseIdleConnections()
}

// A sender that never finishes its headers, or its body, holds its connection for no longer than the time-out.
func TestASlowSenderIsCutOff(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	handler := setup(t).Public()
	go func() {
		stopped <- server.Serve(ctx, listener, handler, server.ServeOptions{
			Logger: slog.New(slog.DiscardHandler), Grace: time.Second, ReadTimeout: 300 * time.Millisecond,
		})
	}()
	for name, sent := range map[string]string{
		"headers": "POST /hooks/open HTTP/1.1\r\nHost: x\r\n",
		"body":    "POST /hooks/open HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, sent)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		answer, err := io.ReadAll(conn)
		require.NoError(t, err, "the server closes it")
		if name == "body" {
			require.Contains(t, string(answer), "arrived too slowly")
		}
		require.NoError(t, conn.Close())
	}
	cancel()
	require.NoError(t, <-stopped)
}

func FuzzHook(f *testing.F) {
	f.Add("application/json", "Bearer x", []byte(`{"title":"x"}`))
	f.Add("application/x-www-form-urlencoded", "", []byte(`payload=%7B%22title%22%3A%22x%22%7D`))
	f.Add("multipart/form-data; boundary=x", "Bearer s3cret", []byte("--x\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\n{}\r\n--x--"))
	b := setup(f)
	f.Fuzz(func(t *testing.T, contentType, authorization string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/hooks/guarded", bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Authorization", authorization)
		status, _, answer := serve(b.Public(), r)
		require.Contains(t, []int{202, 400, 401, 413, 415}, status, "%s", answer)
		require.True(t, json.Valid(answer))
	})
}

func tiers(channel, category ratelimit.Window) []ratelimit.LevelSpec {
	return []ratelimit.LevelSpec{
		{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{channel}},
		{Name: ratelimit.LevelCategory, Windows: []ratelimit.Window{category}},
	}
}

func TestSeries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	serve(b.Public(), post("/hooks/open", `[{"title":"1","category":"a"},{"title":"2","category":"a"},{"title":"3","category":"a"},{"title":"4","category":"b"}]`))
	get := func(query string) (int, string) {
		status, _, answer := serve(b.Ops(), httptest.NewRequest(http.MethodGet, "/api/v1/channels/"+query, nil))
		return status, strings.TrimSpace(string(answer))
	}
	status, answer := get("open/series?back=10m")
	require.Equal(t, 200, status, answer)
	var series pipeline.Series
	require.NoError(t, json.Unmarshal([]byte(answer), &series))
	require.Len(t, series.Total.Received, 11)
	total := func(all []int64) (n int64) {
		for _, one := range all {
			n += one
		}
		return n
	}
	require.Equal(t, []int64{4, 3, 1}, []int64{total(series.Total.Received), total(series.Total.Sent), total(series.Total.Dropped)})
	require.Equal(t, "a", series.Categories[0].Category, "the busiest first")
	require.Equal(t, int64(3), total(series.Categories[0].Received))
	require.InDelta(t, 60, series.Step, 0)
	_, answer = get("open/series?back=1h&step=10m")
	require.NoError(t, json.Unmarshal([]byte(answer), &series))
	require.Contains(t, []int{7, 6}, len(series.Total.Received))
	for _, query := range []string{"back=x", "back=30s", "back=25h", "step=30s", "step=90s", "back=-1h"} {
		status, answer := get("open/series?" + query)
		require.Equal(t, 400, status, query)
		require.Contains(t, answer, "bad_field")
	}
	status, _ = get("nowhere/series")
	require.Equal(t, 404, status)
}
