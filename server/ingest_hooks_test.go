package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/server"
)

func TestErrorReplyHasStatusCodeAndMessage(t *testing.T) {
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
		code, text string
	}{
		"empty body":    {"/hooks/open", "", none, 400, "empty_body", "the body is empty"},
		"not JSON":      {"/hooks/open", "disk full", none, 400, "bad_json", "must be a JSON object"},
		"wrong type":    {"/hooks/open", `{"title":7}`, none, 400, "bad_field", "title must be a string, not a number"},
		"no events":     {"/hooks/open", `[]`, none, 400, "no_events", "no events"},
		"deep nesting":  {"/hooks/open", strings.Repeat(`{"a":`, 100_000), none, 400, "bad_json", "nested more than 100 deep"},
		"invalid UTF-8": {"/hooks/open", "{\"title\":\"\xff\"}", none, 400, "bad_json", "not valid UTF-8 at byte 10"},
		"1 MiB and 1": {
			"/hooks/open", `{"title":"` + strings.Repeat("x", 1<<20-11) + `"}`, none, 413, "body_too_large",
			"more than 1048576 bytes",
		},
		"1,001 events": {
			"/hooks/open", "[" + strings.Repeat(ok+",", 1000) + ok + "]", none, 413, "too_many_events",
			"1001 events, at most 1000",
		},
		"unknown channel": {"/hooks/nowhere", ok, none, 404, "unknown_channel", `no channel is called "nowhere"`},
		"unknown source":  {"/hooks/open/nagios", ok, none, 404, "unknown_source", "use one of "},
		"another path":    {"/hook/open", ok, none, 404, "not_found", "/hooks/{channel}"},
		"no token":        {"/hooks/guarded", ok, none, 401, "unauthorized", "Authorization: Bearer <token>"},
		"wrong token":     {"/hooks/guarded", ok, with("Authorization", "Bearer wrong"), 401, "unauthorized", "ingress token"},
		"no scheme":       {"/hooks/guarded", ok, with("Authorization", "s3cret"), 401, "unauthorized", "ingress token"},
		"another scheme":  {"/hooks/guarded", ok, with("Authorization", "Basic s3cret"), 401, "unauthorized", "ingress token"},
		"GET":             {"/hooks/open", "", method(http.MethodGet), 405, "method_not_allowed", "by POST, not by GET"},
		"PUT":             {"/hooks/open/generic", ok, method(http.MethodPut), 405, "method_not_allowed", "not by PUT"},
		"a picture":       {"/hooks/open", "x", with("Content-Type", "image/png"), 415, "unsupported_media_type", "image/png"},
		"nonsense type":   {"/hooks/open", ok, with("Content-Type", "json;;="), 415, "unsupported_media_type", "is not supported"},
		"compressed":      {"/hooks/open", ok, with("Content-Encoding", "br"), 415, "unsupported_media_type", `"br" is not supported`},
		"a form without title": {
			"/hooks/open", "category=b", with("Content-Type", "application/x-www-form-urlencoded"), 400, "bad_field",
			"title or text is needed",
		},
		"a broken multipart": {"/hooks/open", "a=b", with("Content-Type", "multipart/form-data; boundary=x"), 400, "bad_json", "multipart"},
		"no payload in it":   {"/hooks/open", "--x--\r\n", with("Content-Type", "multipart/form-data; boundary=x"), 400, "empty_body", "empty"},
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
			require.Contains(t, reply.Error.Message, c.text)
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

func TestBodyOfExactlyOneMiBIsAccepted(t *testing.T) {
	t.Parallel()
	status, _, answer := serve(setup(t).Public(), post("/hooks/open", `{"title":"`+strings.Repeat("x", 1<<20-12)+`"}`))
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
}

func TestReceiptListsEveryEvent(t *testing.T) {
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

func TestJSONIsAcceptedInEveryUsualMediaType(t *testing.T) {
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
		t.Run(name, func(t *testing.T) {
			r := post("/hooks/open", c.body)
			r.Header.Set("Content-Type", c.contentType)
			if c.contentType == "" {
				r.Header.Del("Content-Type")
			}
			status, _, answer := serve(setup(t).Public(), r)
			require.Equal(t, http.StatusAccepted, status, "%s: %s", name, answer)
		})
	}
}

func TestSenderIsTheAddressOrTheCredential(t *testing.T) {
	t.Parallel()
	intake := &stubIntake{}
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "open"}, {Name: "guarded", IngressToken: "s3cret"}},
		Intake:   intake, Logger: slog.New(slog.DiscardHandler),
	})
	r := post("/hooks/open", `{"title":"x"}`)
	r.RemoteAddr = "[2001:db8::7]:4711"
	serve(s.Public(), r)
	require.Equal(t, "2001:db8::7", intake.sender)
	r = post("/hooks/guarded/generic", `{"title":"x"}`)
	r.Header.Set("Authorization", "bearer s3cret")
	serve(s.Public(), r)
	require.Equal(t, "default", intake.sender)
}

func TestInternalErrorIsLoggedOnceAndHidden(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"limiter away":  {fmt.Errorf("x: %w", ratelimit.ErrUnavailable), 503, "unavailable"},
		"anything else": {errors.New("secret detail"), 500, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			log := &bytes.Buffer{}
			s := server.New(server.Options{
				Channels: []server.Channel{{Name: "open"}}, Intake: &stubIntake{err: c.err},
				Logger: slog.New(slog.NewTextHandler(log, nil)),
			})
			status, header, answer := serve(s.Public(), post("/hooks/open", `{"title":"x"}`))
			require.Equal(t, c.status, status, name)
			require.Contains(t, string(answer), c.code)
			require.NotContains(t, string(answer), "secret detail")
			require.Equal(t, 1, strings.Count(log.String(), "request failed"), "logged once, at the edge")
			require.Equal(t, map[int]string{503: "5"}[c.status], header.Get("Retry-After"))
		})
	}
}

func FuzzHook(f *testing.F) {
	f.Add("application/json", "Bearer x", []byte(`{"title":"x"}`))
	f.Add("application/x-www-form-urlencoded", "", []byte(`payload=%7B%22title%22%3A%22x%22%7D`))
	f.Add("multipart/form-data; boundary=x", "Bearer s3cret",
		[]byte("--x\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\n{}\r\n--x--"))
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
