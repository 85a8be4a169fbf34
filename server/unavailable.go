package server

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"slackrelay/events"
	"slackrelay/ratelimit"
	"slackrelay/silence"
)

// notStored tells a sender that Redis did not take everything, and why; no name, address or text is in it.
func notStored(err error) string {
	if fault := ratelimit.FaultOf(err); fault != "" {
		return fault.String() + ", so not all of this was stored; send it again, what was stored answers duplicate"
	}
	return "it is not known whether all of this was stored; send it again, what was stored answers duplicate"
}

// replyTo finds what the caller of a listener may be told of an error: senders what to do, operators also what is wrong.
func (s *Server) replyTo(r *http.Request, err error) *events.InputError {
	reply := replyTo(err)
	if reply.Code != unavailable || !strings.HasPrefix(r.URL.Path, "/api/v1/") || !isOutage(err) {
		return reply
	}
	what := "this could not be read from Redis"
	if r.Method != http.MethodGet {
		what = "it is not known whether all of this was done"
	}
	if errors.Is(err, silence.ErrUnavailable) {
		what += "; the silences that are known hold on meanwhile"
	}
	return &events.InputError{Code: unavailable, Message: cmp.Or(ratelimit.Describe(err), "the shared state cannot be used") + ": " + what}
}

func isOutage(err error) bool {
	return errors.Is(err, silence.ErrUnavailable) || errors.Is(err, ratelimit.ErrUnavailable)
}
