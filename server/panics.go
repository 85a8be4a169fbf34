package server

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// maxStack is how many bytes of a stack are logged.
const maxStack = 4 << 10

// recovered logs and counts a panic of a handler, and ends the connection as net/http would: some of the answer may have
// been written.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if reason != http.ErrAbortHandler { //nolint:errorlint // it is panicked with as it is
				s.guard.panics.Inc()
				s.opts.Logger.ErrorContext(r.Context(), "handler panicked", "route", r.Pattern,
					"panic", cutBytes(fmt.Sprint(reason), maxRefusalMessage), "stack", cutBytes(string(debug.Stack()), maxStack))
			}
			panic(http.ErrAbortHandler)
		}()
		next.ServeHTTP(w, r)
	})
}
