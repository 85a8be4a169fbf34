package server_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

// unread is a body that must not be asked for.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body of a sender without a credential was read")
	return 0, io.ErrUnexpectedEOF
}

// Where a credential needs no body, nothing is read before it was shown.
func TestStrangersAreNotRead(t *testing.T) {
	t.Parallel()
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "tok", IngressToken: "tok"}}, Intake: &taken{}, Logger: slog.New(slog.DiscardHandler),
	})
	for path, says := range map[string]string{
		"/hooks/tok": "unauthorized", "/services/tok/wrong": "invalid_token", "/services/tok/?token=wrong": "invalid_token", "/api/chat.postMessage": "invalid_auth",
	} {
		r := httptest.NewRequest(http.MethodPost, path, unread{t})
		r.Header.Set("Authorization", "Bearer wrong")
		_, _, answer := serve(s.Public(), r)
		require.Contains(t, string(answer), says, path)
	}
}

// arriving is a body of which only the beginning has come.
type arriving struct {
	begun  io.Reader
	read   chan struct{} // closed once that was read
	ended  chan struct{}
	closed bool
}

func newArriving(n int) *arriving {
	return &arriving{begun: bytes.NewReader(make([]byte, n)), read: make(chan struct{}), ended: make(chan struct{})}
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.begun.Read(p)
	if err == nil {
		return n, nil
	}
	if !a.closed {
		a.closed = true
		close(a.read)
	}
	<-a.ended
	return 0, io.ErrUnexpectedEOF
}

// bounded is a server with 4 MiB in flight: a channel with a token, and one whose bodies are signed.
func bounded() *server.Server {
	return server.New(server.Options{
		Channels: []server.Channel{
			{Name: "tok", IngressToken: "tok"},
			{Name: "other", IngressToken: "other"},
			{Name: "signed", Credentials: []server.Credential{{Name: "github", Kind: "github", Secret: "key"}}},
		},
		Intake: &taken{}, Logger: slog.New(slog.DiscardHandler), MaxBody: 100_000, MaxInFlight: 4 << 20,
	})
}

// held posts unfinished bodies until one is refused, and answers how many were held.
func held(t *testing.T, s *server.Server, path, token, address string, most int) int {
	t.Helper()
	ended := make(chan struct{})
	answers := make(chan int)
	n, left := 0, 0
	t.Cleanup(func() {
		close(ended)
		for range left {
			<-answers
		}
	})
	for ; n < most; n++ {
		b := newArriving(90_000)
		b.ended = ended
		r := httptest.NewRequest(http.MethodPost, path, b)
		r.ContentLength, r.RemoteAddr = 100_000, address
		r.Header.Set("Authorization", "Bearer "+token)
		go func() {
			status, _, _ := serve(s.Public(), r)
			answers <- status
		}()
		select {
		case <-b.read:
			left++
		case status := <-answers:
			require.Equal(t, http.StatusServiceUnavailable, status)
			return n
		}
	}
	return n
}

// Unfinished bodies of strangers have a small share of the bytes in flight, of all and of each address; whoever has a
// credential is not kept out by them.
func TestBodiesOfStrangersHaveAShare(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"signed": "/hooks/signed", "token in the body": "/api/chat.postMessage"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := bounded()
			require.Equal(t, 2, held(t, s, path, "", "192.0.2.1:1", 100), "a sixteenth, for one address")
			require.Equal(t, 2, held(t, s, path, "", "[2001:db8::1]:1", 100))
			require.Equal(t, 0, held(t, s, path, "", "[2001:db8::2]:1", 100), "a site of IPv6 is one sender")
			all := 4
			for _, address := range []string{"192.0.2.2:1", "192.0.2.3:1", "192.0.2.4:1", "192.0.2.5:1", "192.0.2.6:1"} {
				all += held(t, s, path, "", address, 100)
			}
			require.Equal(t, 10, all, "a quarter, for all")
			r := post("/hooks/tok", body)
			r.Header.Set("Authorization", "Bearer tok")
			status, _, answer := serve(s.Public(), r)
			require.Equal(t, http.StatusAccepted, status, "%s", answer)
		})
	}
}

// Slow senders with a credential hold at most a part: of their address, and of their channel.
func TestBodiesOfOneChannelHaveAShare(t *testing.T) {
	t.Parallel()
	s := bounded()
	all := held(t, s, "/hooks/tok", "tok", "192.0.2.1:1", 100)
	require.Equal(t, 10, all, "a quarter, for an address")
	for _, address := range []string{"192.0.2.2:1", "192.0.2.3:1", "192.0.2.4:1"} {
		all += held(t, s, "/hooks/tok", "tok", address, 100)
	}
	require.Equal(t, 20, all, "a half, for a channel")
	r := post("/services/tok/tok", `{"text":"`+strings.Repeat("x", 90_000)+`"}`)
	status, header, answer := serve(s.Public(), r)
	require.Equal(t, "503 service_unavailable 5", fmt.Sprint(status, " ", string(answer), " ", header.Get("Retry-After")))
	r = post("/hooks/other", `{"title":"`+strings.Repeat("x", 90_000)+`"}`)
	r.RemoteAddr = "192.0.2.9:1"
	r.Header.Set("Authorization", "Bearer other")
	status, _, answer = serve(s.Public(), r)
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
}

// What was in flight is free again, whatever became of it; what a body unpacks to counts too.
func TestBytesInFlightAreGivenBack(t *testing.T) {
	t.Parallel()
	s := bounded()
	for i := range 200 {
		r := post("/hooks/signed", strings.Repeat("x", 90_000))
		r.RemoteAddr = "192.0.2.1:1"
		if i%2 == 1 {
			r = httptest.NewRequest(http.MethodPost, "/api/chat.postMessage", bytes.NewReader(packed(t, "gzip", `{"text":"`+strings.Repeat("x", 99_000)+`"}`)))
			r.Header.Set("Content-Encoding", "gzip")
		}
		status, _, answer := serve(s.Public(), r)
		require.NotEqual(t, http.StatusServiceUnavailable, status, "%s", answer)
	}
	for range 200 {
		r := post("/hooks/tok", `{"title":"`+strings.Repeat("x", 90_000)+`"}`)
		r.Header.Set("Authorization", "Bearer tok")
		status, _, answer := serve(s.Public(), r)
		require.Equal(t, http.StatusAccepted, status, "%s", answer)
	}
}

// The token of a call of the Web API is found wherever its sender may put it, without decoding the rest.
func TestTokensInBodies(t *testing.T) {
	t.Parallel()
	s := bounded()
	many := ""
	for i := range 1000 {
		many += fmt.Sprintf(`"k%d":{"deep":[1,"token"]},`, i)
	}
	for name, c := range map[string]struct{ media, body, says string }{
		"JSON":             {"application/json", `{` + many + `"token":"tok","channel":"tok","text":"x"}`, `"ok":true`},
		"escaped":          {"application/json", `{"token":"\u0074ok","channel":"tok","text":"x"}`, `"ok":true`},
		"nested only":      {"application/json", `{"x":{"token":"tok"},"channel":"tok","text":"x"}`, `"not_authed"`},
		"a number":         {"application/json", `{"token":7,"channel":"tok","text":"x"}`, `"not_authed"`},
		"form":             {"application/x-www-form-urlencoded", `a=1&token=%74ok&channel=tok&text=x`, `"ok":true`},
		"JSON in a form":   {"application/x-www-form-urlencoded", `payload=%7B%22token%22%3A%22tok%22%2C%22channel%22%3A%22tok%22%2C%22text%22%3A%22x%22%7D`, `"ok":true`},
		"multipart":        {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\ntok\r\n--b\r\nContent-Disposition: form-data; name=\"channel\"\r\n\r\ntok\r\n--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nx\r\n--b--\r\n", `"ok":true`},
		"another's":        {"application/json", `{"token":"other","channel":"tok","text":"x"}`, `"invalid_auth"`},
		"cut short":        {"application/json", `{"token":"tok","channel":`, `"not_authed"`},
		"good, then a cut": {"application/json", `{"channel":"tok","text":"x"`, `"not_authed"`},
	} {
		r := post("/api/chat.postMessage", c.body)
		r.Header.Set("Content-Type", c.media)
		_, _, answer := serve(s.Public(), r)
		require.Contains(t, string(answer), c.says, name)
	}
}
