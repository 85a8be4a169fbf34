package ratelimit

import (
	"errors"
	"fmt"
	"time"
)

// Decision is what the levels of a [Request] answered. The request is admitted unless it is a duplicate or a level refused.
type Decision struct {
	Duplicate  bool          // its id was admitted before; nothing was spent
	Level      string        // the level that refused, the outermost where several did
	Window     Window        // the window of that level that refuses longest
	Refused    []string      // all levels that refused, outermost first
	Shadow     []string      // shadow levels that would have refused
	RetryAfter time.Duration // the earliest time it could fit if nothing else is admitted; negative = it never can
	// Remaining is how full each window of each level is: after the request if it was admitted, else at the refusal. It is
	// empty where no level was read: for a duplicate, and for a refusal that needed no call of the store.
	Remaining []Remaining
}

// Remaining is how full one window of a level is.
type Remaining struct {
	Level  string
	Window Window
	Used   int64 // units; above the limit where the limit was lowered
	Free   int64 // how many more units would fit now; slots that fairness reserves count as free
}

// Usage is how full one window of a level is.
type Usage struct {
	Level      string
	Window     Window
	Used       int64         // units
	RetryAfter time.Duration // until one more unit fits the level; 0 = now, negative = never
}

// Usage returns how full the windows of the levels are that were asked for one unit.
func (d *Decision) Usage() []Usage {
	usage := make([]Usage, len(d.Remaining))
	for i, r := range d.Remaining {
		usage[i] = Usage{Level: r.Level, Window: r.Window, Used: r.Used}
		if r.Free == 0 {
			usage[i].RetryAfter = d.RetryAfter
		}
	}
	return usage
}

// ErrUnavailable wraps every error of the transport to where limits are kept: it is unknown whether the call took effect.
var ErrUnavailable = errors.New("limiter unavailable")

// ErrRequest wraps the error of every request that is not valid; nothing was written.
var ErrRequest = errors.New("bad limiter request")

// LimitedError is a refusal as [Wait] and [Do] return it. No error of the service that the limit protects is one.
type LimitedError struct {
	Level      string        // the level that refused, the outermost where several did
	Window     Window        // its window that is full
	RetryAfter time.Duration // until the request could fit; negative = it never can
}

// Error returns the level, its limit and how long to wait.
func (e *LimitedError) Error() string {
	if e.RetryAfter < 0 {
		return fmt.Sprintf("limited by %s: it can never fit into %d per %s", e.Level, e.Window.Limit, e.Window.Per)
	}
	return fmt.Sprintf("limited by %s, %d per %s: retry after %s", e.Level, e.Window.Limit, e.Window.Per, e.RetryAfter)
}

// limited returns the refusal as an error.
func (d *Decision) limited() *LimitedError {
	return &LimitedError{Level: d.Level, Window: d.Window, RetryAfter: d.RetryAfter}
}
