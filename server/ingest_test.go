package server_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

// unreadReply is the reply to a sender that does not read it.
type unreadReply struct {
	*httptest.ResponseRecorder
	written chan struct{} // closed by the reply
	reads   chan struct{}
}

func (s unreadReply) Write(p []byte) (int, error) {
	close(s.written)
	<-s.reads
	return len(p), nil
}

// What a webhook occupies is released before its reply is written, so that a sender that does not read it blocks nobody.
func TestUnreadReplyDoesNotBlockOtherSenders(t *testing.T) {
	t.Parallel()
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "a", IngressToken: "a"}, {Name: "b", IngressToken: "b"}}, Intake: &stubIntake{},
		Logger: slog.New(slog.DiscardHandler),
	})
	fillsGate := `{"title":"t","text":"` + strings.Repeat("{", 16<<10) + `"}`
	request := func(channel string) *http.Request {
		r := post("/hooks/"+channel+"/generic", fillsGate)
		r.Header.Set("Authorization", "Bearer "+channel)
		return r
	}
	never := unreadReply{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Public().ServeHTTP(never, request("a"))
	}()
	<-never.written
	status, _, answer := serve(s.Public(), request("b"))
	close(never.reads)
	<-ended
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
}
