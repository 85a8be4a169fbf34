package store

import (
	"fmt"

	"slackrelay/ratelimit"
)

// MaxBatch is the maximum number of requests in one call. It bounds how long a script keeps other clients waiting: 8 to
// 12 ms for a thousand requests.
const MaxBatch = 128

// Request asks for N units at each of its levels:
//
//	request := store.Request{ID: "alert-17", Levels: levels, Category: "disk"}
//
// Fairness, Policy, Forced, and whether Delayed is set are the same for all requests of a call.
type Request struct {
	ID       string            // 1 to 40 bytes; an id that was admitted within the dedupe time is a duplicate
	N        int64             // units; 0 = 1
	Levels   []ratelimit.Level // outermost first; 1 to 32
	Category string            // counted under this name in the series
	// Headroom is how many units of the first level's first window this request must leave free; see
	// [ratelimit.Headroom]. 0 = none.
	Headroom int64
	Fairness *ratelimit.Fairness // nil = none
	Policy   *MessagePolicy      // nil = none
	Event    Event               // what the policy needs to know of the event
	// Delayed is the number of a delayed message that is decided again: it is admitted, stays delayed, or is dropped
	// because it waited too long. It is not received again. 0 = the request is new.
	Delayed int64
	// Forced means that an operator wants the message posted whatever the limits are. It spends no units, so that the
	// limits still apply to all other requests, and [Ledger.Forced] counts it.
	Forced  bool
	Enqueue *Enqueue // what an admission appends to the queue; nil = nothing
	// Complete sets ID and Enqueue once they are needed: never for a request that is known to be refused. It is called at
	// most once, on the caller's request. nil = they are set.
	Complete func(r *Request) error
	Result   *AgedResult // what happened to a request that is restored; nil = it waits or, without Enqueue, was delivered
}

// Units returns how many units the request asks for, at least 1.
func (r *Request) Units() int64 { return max(r.N, 1) }

// Payload returns the payload to be queued; nil = none.
func (r *Request) Payload() []byte {
	if r.Enqueue == nil {
		return nil
	}
	return r.Enqueue.Payload
}

// OutageResult returns what happened to a request that is restored; the zero value where that is unknown.
func (r *Request) OutageResult() OutageResult {
	if r.Result == nil {
		return OutageResult{}
	}
	return r.Result.OutageResult
}

// Complete calls the Complete function of those requests that still have one. An error wraps [ErrRequest].
func Complete(requests []Request) error {
	for i := range requests {
		complete := requests[i].Complete
		if complete == nil {
			continue
		}
		requests[i].Complete = nil
		if err := complete(&requests[i]); err != nil {
			return fmt.Errorf("%w: request %d: %w", ErrRequest, i, err)
		}
	}
	return nil
}
