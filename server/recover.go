package server

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// maxStack is how many bytes of a stack trace are logged.
const maxStack = 4 << 10

// logPanic is deferred around all handlers. It logs and counts a panic and ends the connection, as net/http would: part of the
// reply may have been written.
func (s *Server) logPanic(r *http.Request) {
	reason := recover()
	if reason == nil {
		return
	}
	if reason != http.ErrAbortHandler { //nolint:errorlint // net/http panics with this value itself
		s.opts.Guard.panics.Inc()
		s.opts.Logger.ErrorContext(r.Context(), "handler panicked", "route", r.Pattern,
			"panic", cutBytes(fmt.Sprint(reason), maxRefusalMessage), "stack", cutBytes(string(debug.Stack()), maxStack))
	}
	panic(http.ErrAbortHandler)
}
