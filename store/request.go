package store

import (
	"fmt"

	"slackrelay/ratelimit"
)

// Request asks for units at the levels of an event, and says what becomes of the event:
//
//	request := store.Request{
//		Request: ratelimit.Request{ID: "alert-17", Levels: levels, Category: "disk"},
//		Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: payload},
//	}
//
// Fairness and Policy are the same for all requests of a call. Category is the name under which the series count it.
type Request struct {
	ratelimit.Request
	Policy  *MessagePolicy // nil = none
	Event   Event          // what the policy needs to know of the event
	Delayed int64          // the number of a delayed message, for [Store.Promote]; 0 = the request is new
	Enqueue *Enqueue       // what an admission appends to the queue; nil = nothing
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

// Complete completes requests. An error wraps [ratelimit.ErrRequest].
func Complete(requests []Request) error {
	for i := range requests {
		if err := requests[i].Complete(); err != nil {
			return fmt.Errorf("%w: request %d: %w", ratelimit.ErrRequest, i, err)
		}
	}
	return nil
}
