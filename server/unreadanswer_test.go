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

// stuck is who sends, and does not read the answer.
type stuck struct {
	*httptest.ResponseRecorder
	answered, reads chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	close(s.answered)
	<-s.reads
	return len(p), nil
}

// Who does not read the answer keeps nobody else from being decided: what a webhook holds is given back before.
func TestAnAnswerThatNobodyReads(t *testing.T) {
	t.Parallel()
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "a", IngressToken: "a"}, {Name: "b", IngressToken: "b"}}, Intake: &taken{}, Logger: slog.New(slog.DiscardHandler),
	})
	request := func(channel string) *http.Request {
		r := post("/hooks/"+channel+"/generic", `{"title":"t","text":"`+strings.Repeat("{", 16<<10)+`"}`) // whose turn nobody else shares
		r.Header.Set("Authorization", "Bearer "+channel)
		return r
	}
	never := stuck{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Public().ServeHTTP(never, request("a"))
	}()
	<-never.answered
	status, _, answer := serve(s.Public(), request("b"))
	close(never.reads)
	<-ended
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
}
