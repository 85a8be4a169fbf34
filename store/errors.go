package store

import (
	"errors"
	"fmt"
	"time"

	"slackrelay/ratelimit"
)

// ErrUnavailable wraps every transport error: it is unknown whether the call was committed.
var ErrUnavailable = errors.New("limiter unavailable")

// errNotSent marks an [ErrUnavailable] of a call that certainly was not carried out.
var ErrNotSent = errors.New("not carried out")

// ErrRequest wraps every request that makes no sense; nothing was written.
var ErrRequest = errors.New("bad limiter request")

// LimitedError is a refusal, as [Wait] and [Do] report it. It is apart from any error of the service that the
// limit protects.
type LimitedError struct {
	Level      string           // the level that refused, the outermost where several did
	Window     ratelimit.Window // its window that is full
	RetryAfter time.Duration    // until it could fit; negative where it never can
}

// Error implements error.
func (e *LimitedError) Error() string {
	if e.RetryAfter < 0 {
		return fmt.Sprintf("limited by %s: it can never fit into %d per %s", e.Level, e.Window.Limit, e.Window.Per)
	}
	return fmt.Sprintf("limited by %s, %d per %s: retry after %s", e.Level, e.Window.Limit, e.Window.Per, e.RetryAfter)
}
