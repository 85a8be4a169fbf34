package server

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"slackrelay/events"
	"slackrelay/silence"
	"slackrelay/store"
)

// notStored tells a sender that Redis did not take everything, and why; no name, address or text is in it.
func notStored(err error) string {
	if fault := store.FaultOf(err); fault != "" {
		return fault.String() + ", so not all events were stored; send the request again, events that are already stored get duplicate"
	}
	return "it is unknown whether all events were stored; send the request again, events that are already stored get duplicate"
}

// replyTo finds what the caller of a listener may be told of an error: senders what to do, operators also what is wrong.
func (s *Server) replyTo(r *http.Request, err error) *events.InputError {
	reply := replyTo(err)
	if reply.Code != unavailable || !strings.HasPrefix(r.URL.Path, "/api/v1/") || !isOutage(err) {
		return reply
	}
	what := "the data could not be read from Redis"
	if r.Method != http.MethodGet {
		what = "it is unknown whether the change was made completely"
	}
	if errors.Is(err, silence.ErrUnavailable) {
		what += "; the last known silences stay in effect"
	}
	return &events.InputError{Code: unavailable, Message: cmp.Or(store.Describe(err), "the shared state is unavailable") + ": " + what}
}

func isOutage(err error) bool {
	return errors.Is(err, silence.ErrUnavailable) || errors.Is(err, store.ErrUnavailable)
}
