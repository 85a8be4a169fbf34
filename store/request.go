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
// Fairness and Policy are the same for all requests of a call.
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
	Delayed  int64               // the number of a delayed message, for [Store.Promote]; 0 = the request is new
	Enqueue  *Enqueue            // what an admission appends to the queue; nil = nothing
	// Source makes ID, Enqueue and the fingerprints of Event when they are needed: never for a request that is known to be
	// refused. nil = they are set.
	Source AdmissionSource
	Result *AgedResult // what happened to a request that is restored; nil = it waits or, without Enqueue, was delivered
}

// Admission is the part of a request that only the store needs. It is costly to make: the names are hashes, and the
// payload is encoded.
type Admission struct {
	ID          string // see [Request]
	Enqueue     *Enqueue
	Fingerprint string // see [Event]
	ReplyTo     string // see [Event]
}

// AdmissionSource makes an [Admission]. It is called at most once for each copy of a request, and may be called after the
// call that the request was made for: a drop that is recorded later needs its payload then.
type AdmissionSource interface {
	Admission() (Admission, error)
}

// Complete sets what the request's Source makes, and ends the Source.
func (r *Request) Complete() error {
	if r.Source == nil {
		return nil
	}
	a, err := r.Source.Admission()
	r.Source = nil
	if err != nil {
		return err
	}
	r.ID = a.ID
	r.Enqueue = a.Enqueue
	r.Event.Fingerprint = a.Fingerprint
	r.Event.ReplyTo = a.ReplyTo
	return nil
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

// Complete completes requests. An error wraps [ErrRequest].
func Complete(requests []Request) error {
	for i := range requests {
		if err := requests[i].Complete(); err != nil {
			return fmt.Errorf("%w: request %d: %w", ErrRequest, i, err)
		}
	}
	return nil
}
