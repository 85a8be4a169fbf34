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

func packed(tb testing.TB, encoding, text string) []byte {
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

// Bodies may be packed; what they unpack to is bounded as a plain one is, and unpacked no further than that.
func TestPackedBodies(t *testing.T) {
	t.Parallel()
	intake := &taken{}
	s := server.New(server.Options{Channels: []server.Channel{{Name: "open"}}, Intake: intake, Logger: slog.New(slog.DiscardHandler), MaxBody: 10_000})
	send := func(encoding string, body []byte) (int, string) {
		r := httptest.NewRequest(http.MethodPost, "/hooks/open", bytes.NewReader(body))
		r.Header.Set("Content-Encoding", encoding)
		status, _, answer := serve(s.Public(), r)
		return status, string(answer)
	}
	for _, encoding := range []string{"gzip", "x-gzip", "GZIP", "deflate"} {
		status, answer := send(encoding, packed(t, strings.ToLower(encoding), `{"title":"Disk full"}`))
		require.Equal(t, http.StatusAccepted, status, answer)
		require.Equal(t, "Disk full", intake.events[0].Title)

		bomb := packed(t, strings.ToLower(encoding), `{"title":"`+strings.Repeat("x", 1_000_000)+`"}`)
		require.Less(t, len(bomb), 10_000)
		status, answer = send(encoding, bomb)
		require.Equal(t, http.StatusRequestEntityTooLarge, status)
		require.Contains(t, answer, "the decompressed body has more than 10000 bytes")

		status, answer = send(encoding, []byte(`{"title":"not packed"}`))
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, answer, "Content-Encoding is")

		whole := packed(t, strings.ToLower(encoding), `{"title":"cut off"}`)
		status, _ = send(encoding, whole[:len(whole)-6])
		require.Equal(t, http.StatusBadRequest, status)
	}
	status, _ := send("gzip", bytes.Repeat([]byte("x"), 10_001))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
}

// The signature is of the bytes as they were sent.
func TestAPackedBodyIsSignedAsItIsSent(t *testing.T) {
	t.Parallel()
	s, intake := guard(t, server.Credential{Name: "hub", Kind: "github", Secret: "k"})
	wire := packed(t, "gzip", body)
	for _, signed := range [][]byte{wire, []byte(body)} {
		r := httptest.NewRequest(http.MethodPost, "/hooks/c", bytes.NewReader(wire))
		r.Header.Set("Content-Encoding", "gzip")
		r.Header.Set("X-Hub-Signature-256", "sha256="+hexOf(sign(sha256.New, "k", string(signed))))
		status, _, _ := serve(s.Public(), r)
		require.Equal(t, bytes.Equal(signed, wire), status == http.StatusAccepted)
	}
	require.Equal(t, "hub", intake.sender)
}

// What is taken of a body is bounded by configuration; each refusal names the bound.
func TestBounds(t *testing.T) {
	t.Parallel()
	decoder, err := events.NewDecoder(events.Options{Limits: events.Limits{Events: 2, Depth: 4, Title: 5, Text: 6, Labels: 1, Label: 3}})
	require.NoError(t, err)
	intake := &taken{}
	s := server.New(server.Options{Channels: []server.Channel{{Name: "open"}}, Intake: intake, Decoder: decoder, MaxBody: 100, Logger: slog.New(slog.DiscardHandler)})
	for body, want := range map[string]struct {
		status int
		says   string
	}{
		`[{"title":"1"},{"title":"2"}]`:                {202, ""},
		`[{"title":"1"},{"title":"2"},{"title":"3"}]`:  {413, "holds 3 events, at most 2"},
		`{"title":"x","a":{"b":{"c":{}}}}`:             {202, ""},
		`{"title":"x","a":{"b":{"c":{"d":{}}}}}`:       {400, "nested more than 4 deep at byte 32"},
		`{"title":"x","title":"y"}`:                    {400, "title stands twice in one object"},
		`{"title":"x","a":{"b":1,"b":2}}`:              {400, "b stands twice in one object"},
		"{\"title\":\"\xff\"}":                         {400, "not valid UTF-8 at byte 10"},
		`{"title":"` + strings.Repeat("x", 100) + `"}`: {413, "more than 100 bytes"},
		`{"title":"x"} {"title":"y"}`:                  {400, "more after its end"},
	} {
		status, _, answer := serve(s.Public(), post("/hooks/open", body))
		require.Equal(t, want.status, status, "%s: %s", body, answer)
		if want.says != "" {
			var reply struct{ Error struct{ Message string } }
			require.NoError(t, json.Unmarshal(answer, &reply))
			require.Contains(t, reply.Error.Message, want.says)
		}
	}
	status, _, answer := serve(s.Public(), post("/hooks/open", `{"title":"123456","text":"1234567","labels":{"a":"1234","b":"2"}}`))
	require.Equal(t, 202, status, "%s", answer)
	e := intake.events[0]
	require.Equal(t, []any{"1234…", "12345…", map[string]string{"a": "12…"}}, []any{e.Title, e.Text, e.Labels})
}

// waiting is an intake that waits.
type waiting struct{ arrived, leave chan struct{} }

func (w waiting) Take(context.Context, pipeline.Arrival) (pipeline.Receipt, error) {
	w.arrived <- struct{}{}
	<-w.leave
	return pipeline.Receipt{}, nil
}

// One address has only so many webhooks in hand; others are not kept out.
func TestACrowdOfOneSender(t *testing.T) {
	t.Parallel()
	slow := waiting{arrived: make(chan struct{}), leave: make(chan struct{})}
	s := server.New(server.Options{Channels: []server.Channel{{Name: "open"}}, Intake: slow, MaxConcurrent: 2, Logger: slog.New(slog.DiscardHandler)})
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
