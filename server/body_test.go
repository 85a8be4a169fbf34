package server_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/server"
)

func compressed(tb testing.TB, encoding, text string) []byte {
	tb.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "deflate" {
		w = zlib.NewWriter(&b)
	}
	_, err := io.WriteString(w, text)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.Bytes()
}

// Bodies may be compressed. The decompressed body has the same bound as a plain one, and is decompressed no further.
func TestDecompressedBodyIsBounded(t *testing.T) {
	t.Parallel()
	intake := &stubIntake{}
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "open"}}, Intake: intake, Logger: slog.New(slog.DiscardHandler),
		MaxBody: 10_000,
	})
	send := func(encoding string, body []byte) (int, string) {
		r := httptest.NewRequest(http.MethodPost, "/hooks/open", bytes.NewReader(body))
		r.Header.Set("Content-Encoding", encoding)
		status, _, answer := serve(s.Public(), r)
		return status, string(answer)
	}
	for _, encoding := range []string{"gzip", "x-gzip", "GZIP", "deflate"} {
		t.Run(encoding, func(t *testing.T) {
			status, answer := send(encoding, compressed(t, strings.ToLower(encoding), `{"title":"Disk full"}`))
			require.Equal(t, http.StatusAccepted, status, answer)
			require.Equal(t, "Disk full", intake.events[0].Title)

			bomb := compressed(t, strings.ToLower(encoding), `{"title":"`+strings.Repeat("x", 1_000_000)+`"}`)
			require.Less(t, len(bomb), 10_000)
			status, answer = send(encoding, bomb)
			require.Equal(t, http.StatusRequestEntityTooLarge, status)
			require.Contains(t, answer, "the decompressed body has more than 10000 bytes")

			status, answer = send(encoding, []byte(`{"title":"not compressed"}`))
			require.Equal(t, http.StatusBadRequest, status)
			require.Contains(t, answer, "Content-Encoding is")

			whole := compressed(t, strings.ToLower(encoding), `{"title":"cut off"}`)
			status, _ = send(encoding, whole[:len(whole)-6])
			require.Equal(t, http.StatusBadRequest, status)
		})
	}
	status, _ := send("gzip", bytes.Repeat([]byte("x"), 10_001))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
}

// A signature covers the bytes as they were sent.
func TestSignatureCoversTheCompressedBody(t *testing.T) {
	t.Parallel()
	s, intake := authServer(t, server.Credential{Name: "hub", Kind: "github", Secret: "k"})
	wire := compressed(t, "gzip", body)
	for signed, want := range map[string]int{string(wire): http.StatusAccepted, body: http.StatusUnauthorized} {
		r := httptest.NewRequest(http.MethodPost, "/hooks/c", bytes.NewReader(wire))
		r.Header.Set("Content-Encoding", "gzip")
		r.Header.Set("X-Hub-Signature-256", "sha256="+hexOf(sign(sha256.New, "k", signed)))
		status, _, _ := serve(s.Public(), r)
		require.Equal(t, want, status)
	}
	require.Equal(t, "hub", intake.sender)
}

// The bounds of a body are configurable, and each error names the bound.
func TestErrorNamesTheExceededBound(t *testing.T) {
	t.Parallel()
	decoder, err := events.NewDecoder(events.Options{Limits: events.Limits{Events: 2, Depth: 4, Title: 5, Text: 6, Labels: 1, Label: 3}})
	require.NoError(t, err)
	intake := &stubIntake{}
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "open"}}, Intake: intake, Decoder: decoder, MaxBody: 100,
		Logger: slog.New(slog.DiscardHandler),
	})
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		`[{"title":"1"},{"title":"2"}]`:                {202, ""},
		`[{"title":"1"},{"title":"2"},{"title":"3"}]`:  {413, "contains 3 events, at most 2"},
		`{"title":"x","a":{"b":{"c":{}}}}`:             {202, ""},
		`{"title":"x","a":{"b":{"c":{"d":{}}}}}`:       {400, "nested more than 4 deep at byte 32"},
		`{"title":"x","title":"y"}`:                    {400, "title is given twice in one object"},
		`{"title":"x","labels":{"b":1,"b":2}}`:         {400, "b is given twice in one object"},
		"{\"title\":\"\xff\"}":                         {400, "not valid UTF-8 at byte 10"},
		`{"title":"` + strings.Repeat("x", 100) + `"}`: {413, "more than 100 bytes"},
		`{"title":"x"} {"title":"y"}`:                  {400, "more after its end"},
	} {
		t.Run(body, func(t *testing.T) {
			status, _, answer := serve(s.Public(), post("/hooks/open", body))
			require.Equal(t, want.status, status, "%s: %s", body, answer)
			if want.text != "" {
				var reply struct{ Error struct{ Message string } }
				require.NoError(t, json.Unmarshal(answer, &reply))
				require.Contains(t, reply.Error.Message, want.text)
			}
		})
	}
	status, _, answer := serve(s.Public(), post("/hooks/open", `{"title":"123456","text":"1234567","labels":{"a":"1234","b":"2"}}`))
	require.Equal(t, 202, status, "%s", answer)
	e := intake.events[0]
	require.Equal(t, "1234…", e.Title)
	require.Equal(t, "12345…", e.Text)
	require.Equal(t, map[string]string{"a": "12…"}, e.Labels)
}

// blockingIntake is an intake that blocks until leave is closed.
type blockingIntake struct{ arrived, leave chan struct{} }

func (w blockingIntake) Admit(context.Context, pipeline.Arrival) (pipeline.Receipt, error) {
	w.arrived <- struct{}{}
	<-w.leave
	return pipeline.Receipt{}, nil
}

// The webhooks in flight of one address are bounded; other addresses are not affected.
func TestWebhooksInFlightAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	slow := blockingIntake{arrived: make(chan struct{}), leave: make(chan struct{})}
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "open"}}, Intake: slow, MaxConcurrent: 2,
		Logger: slog.New(slog.DiscardHandler),
	})
	answers := make(chan int, 3)
	send := func(address string) {
		r := post("/hooks/open", body)
		r.RemoteAddr = address
		status, _, _ := serve(s.Public(), r)
		answers <- status
	}
	go send("192.0.2.1:1")
	go send("192.0.2.1:2")
	<-slow.arrived
	<-slow.arrived
	r := post("/hooks/open", body)
	r.RemoteAddr = "192.0.2.1:3"
	status, header, answer := serve(s.Public(), r)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "5", header.Get("Retry-After"))
	require.Contains(t, string(answer), "more than 2 webhooks from this address")
	go send("192.0.2.2:1")
	<-slow.arrived
	close(slow.leave)
	for range 3 {
		require.Equal(t, http.StatusAccepted, <-answers)
	}
	r = post("/services/open/x", `{"text":"x"}`)
	r.RemoteAddr = "192.0.2.1:4"
	go func() { <-slow.arrived }()
	status, _, _ = serve(s.Public(), r)
	require.Equal(t, http.StatusOK, status, "there is room again")
}
