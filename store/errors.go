package store

import (
	"errors"
	"fmt"
	"time"

	"slackrelay/ratelimit"
)

// ErrUnavailable wraps every error of the transport to the store: it is unknown whether the call took effect.
var ErrUnavailable = errors.New("limiter unavailable")

// ErrNotSent marks an [ErrUnavailable] of a call that certainly did not take effect.
var ErrNotSent = errors.New("not carried out")

// ErrRequest wraps the error of every request that is not valid; nothing was written.
var ErrRequest = errors.New("bad limiter request")

// ErrLeaseLost is returned when another sender has the lease, or claimed the entry since: nothing was written, and that
// sender may send the entry too.
var ErrLeaseLost = errors.New("another sender holds the lease")

// LimitedError is a refusal as [Wait] and [Do] return it. No error of the service that the limit protects is one.
type LimitedError struct {
	Level      string           // the level that refused, the outermost where several did
	Window     ratelimit.Window // its window that is full
	RetryAfter time.Duration    // until the request could fit; negative = it never can
}

// Error returns the level, its limit and how long to wait.
func (e *LimitedError) Error() string {
	if e.RetryAfter < 0 {
		return fmt.Sprintf("limited by %s: it can never fit into %d per %s", e.Level, e.Window.Limit, e.Window.Per)
	}
	return fmt.Sprintf("limited by %s, %d per %s: retry after %s", e.Level, e.Window.Limit, e.Window.Per, e.RetryAfter)
}
