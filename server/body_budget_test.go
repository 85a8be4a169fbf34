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

// forbiddenBody is a body that must not be read.
type forbiddenBody struct{ t *testing.T }

func (u forbiddenBody) Read([]byte) (int, error) {
	u.t.Error("the body of a sender without a credential was read")
	return 0, io.ErrUnexpectedEOF
}

// If no credential of the channel signs the body, the body of an unauthenticated sender is not read.
func TestBodyOfUnauthenticatedSenderIsNotRead(t *testing.T) {
	t.Parallel()
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "tok", IngressToken: "tok"}}, Intake: &stubIntake{}, Logger: slog.New(slog.DiscardHandler),
	})
	for path, message := range map[string]string{
		"/hooks/tok": "unauthorized", "/services/tok/wrong": "invalid_token", "/services/tok/?token=wrong": "invalid_token",
		"/api/chat.postMessage": "invalid_auth", "/api/webhooks/tok/wrong": "50027", "/webhookb2/tok/wrong": "does not accept",
		"/workflows/tok/triggers/manual/paths/invoke?sig=wrong": "DirectApiAuthorizationRequired",
		"/v1/spaces/tok/messages?token=wrong":                   "UNAUTHENTICATED", "/mattermost/hooks/wrong": "no channel accepts",
		"/mattermost/hooks/tok/wrong": "does not accept", "/v2/alerts": "no channel accepts", "/v2/alerts/x/close": "no channel accepts",
	} {
		t.Run(path, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, path, forbiddenBody{t})
			r.Header.Set("Authorization", "Bearer wrong")
			_, _, answer := serve(s.Public(), r)
			require.Contains(t, string(answer), message, path)
		})
	}
}

// slowBody is a body whose beginning has arrived, and whose rest does not.
type slowBody struct {
	begin  io.Reader
	read   chan struct{} // closed once begin was read
	ended  chan struct{}
	closed bool
}

func newSlowBody(n int) *slowBody {
	return &slowBody{begin: bytes.NewReader(make([]byte, n)), read: make(chan struct{}), ended: make(chan struct{})}
}

func (a *slowBody) Read(p []byte) (int, error) {
	n, err := a.begin.Read(p)
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

// smallBudgetServer is a server with 4 MiB in flight, two channels with a token, and one whose bodies are signed.
func smallBudgetServer() *server.Server {
	return server.New(server.Options{
		Channels: []server.Channel{
			{Name: "tok", IngressToken: "tok"},
			{Name: "other", IngressToken: "other"},
			{Name: "signed", Credentials: []server.Credential{{Name: "github", Kind: "github", Secret: "key"}}},
		},
		Intake: &stubIntake{}, Logger: slog.New(slog.DiscardHandler), MaxBody: 100_000, MaxInFlight: 4 << 20,
	})
}

// occupy posts slow bodies until one is refused, at most limit, and returns how many are in flight.
func occupy(t *testing.T, s *server.Server, path, token, address string, limit int) int {
	t.Helper()
	ended := make(chan struct{})
	answers := make(chan int)
	n := 0
	left := 0
	t.Cleanup(func() {
		close(ended)
		for range left {
			<-answers
		}
	})
	for ; n < limit; n++ {
		b := newSlowBody(90_000)
		b.ended = ended
		r := httptest.NewRequest(http.MethodPost, path, b)
		r.ContentLength = 100_000
		r.RemoteAddr = address
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

// Slow bodies of unauthenticated senders get a small share of the bytes in flight, in all and for each address. They do not keep
// out senders with a credential.
func TestUnauthenticatedBodiesGetASmallShare(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"signed": "/hooks/signed", "token in the body": "/api/chat.postMessage"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := smallBudgetServer()
			require.Equal(t, 2, occupy(t, s, path, "", "192.0.2.1:1", 100), "a sixteenth for one address")
			require.Equal(t, 2, occupy(t, s, path, "", "[2001:db8::1]:1", 100))
			require.Equal(t, 0, occupy(t, s, path, "", "[2001:db8::2]:1", 100), "an IPv6 site is one sender")
			all := 4
			for _, address := range []string{"192.0.2.2:1", "192.0.2.3:1", "192.0.2.4:1", "192.0.2.5:1", "192.0.2.6:1"} {
				all += occupy(t, s, path, "", address, 100)
			}
			require.Equal(t, 10, all, "a quarter for all")
			r := post("/hooks/tok", body)
			r.Header.Set("Authorization", "Bearer tok")
			status, _, answer := serve(s.Public(), r)
			require.Equal(t, http.StatusAccepted, status, "%s", answer)
		})
	}
}

// Slow senders with a credential occupy at most the share of their address, and that of their channel.
func TestAddressAndChannelGetALimitedShare(t *testing.T) {
	t.Parallel()
	s := smallBudgetServer()
	all := occupy(t, s, "/hooks/tok", "tok", "192.0.2.1:1", 100)
	require.Equal(t, 10, all, "a quarter for an address")
	for _, address := range []string{"192.0.2.2:1", "192.0.2.3:1", "192.0.2.4:1"} {
		all += occupy(t, s, "/hooks/tok", "tok", address, 100)
	}
	require.Equal(t, 20, all, "a half for a channel")
	r := post("/services/tok/tok", `{"text":"`+strings.Repeat("x", 90_000)+`"}`)
	status, header, answer := serve(s.Public(), r)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "service_unavailable", string(answer))
	require.Equal(t, "5", header.Get("Retry-After"))
	r = post("/hooks/other", `{"title":"`+strings.Repeat("x", 90_000)+`"}`)
	r.RemoteAddr = "192.0.2.9:1"
	r.Header.Set("Authorization", "Bearer other")
	status, _, answer = serve(s.Public(), r)
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
}

// Bytes in flight are released after every request, successful or not, compressed or not.
func TestBytesInFlightAreReleased(t *testing.T) {
	t.Parallel()
	s := smallBudgetServer()
	for i := range 200 {
		r := post("/hooks/signed", strings.Repeat("x", 90_000))
		r.RemoteAddr = "192.0.2.1:1"
		if i%2 == 1 {
			r = httptest.NewRequest(http.MethodPost, "/api/chat.postMessage",
				bytes.NewReader(compressed(t, "gzip", `{"text":"`+strings.Repeat("x", 99_000)+`"}`)))
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

// multipartForm returns a form with boundary b, of pairs of names and values.
func multipartForm(pairs ...string) (form string) {
	for i := 0; i < len(pairs); i += 2 {
		form += "--b\r\nContent-Disposition: form-data; name=\"" + pairs[i] + "\"\r\n\r\n" + pairs[i+1] + "\r\n"
	}
	return form + "--b--\r\n"
}

// The token of a call of Slack's Web API is found wherever a sender may put it, without decoding the rest.
func TestSlackTokenIsFoundInEveryBodyFormat(t *testing.T) {
	t.Parallel()
	s := smallBudgetServer()
	many := ""
	for i := range 1000 {
		many += fmt.Sprintf(`"k%d":{"deep":[1,"token"]},`, i)
	}
	for name, c := range map[string]struct{ media, body, message string }{
		"JSON":        {"application/json", `{` + many + `"token":"tok","channel":"tok","text":"x"}`, `"ok":true`},
		"escaped":     {"application/json", `{"token":"\u0074ok","channel":"tok","text":"x"}`, `"ok":true`},
		"nested only": {"application/json", `{"x":{"token":"tok"},"channel":"tok","text":"x"}`, `"not_authed"`},
		"a number":    {"application/json", `{"token":7,"channel":"tok","text":"x"}`, `"not_authed"`},
		"form":        {"application/x-www-form-urlencoded", `a=1&token=%74ok&channel=tok&text=x`, `"ok":true`},
		"JSON in a form": {
			"application/x-www-form-urlencoded",
			`payload=%7B%22token%22%3A%22tok%22%2C%22channel%22%3A%22tok%22%2C%22text%22%3A%22x%22%7D`, `"ok":true`,
		},
		"multipart":        {"multipart/form-data; boundary=b", multipartForm("token", "tok", "channel", "tok", "text", "x"), `"ok":true`},
		"another's":        {"application/json", `{"token":"other","channel":"tok","text":"x"}`, `"invalid_auth"`},
		"cut short":        {"application/json", `{"token":"tok","channel":`, `"not_authed"`},
		"good, then a cut": {"application/json", `{"channel":"tok","text":"x"`, `"not_authed"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := post("/api/chat.postMessage", c.body)
			r.Header.Set("Content-Type", c.media)
			_, _, answer := serve(s.Public(), r)
			require.Contains(t, string(answer), c.message, name)
		})
	}
}
