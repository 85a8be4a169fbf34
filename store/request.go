// Package ratelimit is a hierarchical limiter that any number of processes share through Redis: all levels
// of a request pass, or nothing is spent.
//
// With the default strategy, for every instant x, every level and every window of length W, the units
// admitted in (x-W, x] never exceed the limit. Time is Redis's own. A refusal writes nothing to any level
// and says exactly when the request could fit. An admission spends its slots, remembers its id, counts
// itself in the ledger and appends its payload to the outbox in one atomic step, so that an event is in the
// outbox if and only if it was paid for, or a person forced it past the limits, which [Ledger.Forced] counts
// ([Request.Forced]). docs/strategies.md compares the other strategies.
//
// There are two engines behind [Limiter]: [Redis], and [Memory] for a single process without Redis, which is not
// durable. (Package multi, for servers without scripting, decides by limits only.) [Shared] puts in front of Redis what a storm and an
// outage need: a cache of what is closed, coalescing of concurrent calls, and a policy for when Redis is away.
package store

import (
	"fmt"

	"slackrelay/ratelimit"
)

func (r *Request) Units() int64 { return max(r.N, 1) }

// MaxBatch is the most requests in one call: a script that ran longer would make everybody else wait
// (8 to 12 ms for a thousand).
const MaxBatch = 128

// Request asks for N units at every level.
type Request struct {
	ID       string            // at most 40 bytes; an id admitted within the dedupe time is a duplicate
	N        int64             // units; 0 means 1
	Levels   []ratelimit.Level // outermost first
	Category string            // counted under this name in the series
	// Headroom is how many units of the first level's first window this request must leave free; see
	// [Headroom]. 0 = it may use all.
	Headroom int64
	Fairness *ratelimit.Fairness // nil = none; the same for all requests of a call
	Policy   *MessagePolicy      // nil = none; the same for all requests of a call
	Event    Event               // what the handling needs to know
	// Delayed asks again for what waits for a slot, by its number; so do all requests of the call then. It is
	// admitted, or still delayed, or dropped because it has waited too long; it is not received again.
	Delayed int64
	// Forced is posted whatever the limits say, because somebody with the right to wants it; so are all requests of the
	// call then. It takes no units: what the limits promise holds for all others, and [Ledger.Forced] counts it.
	Forced  bool
	Enqueue *Enqueue
	// Source makes ID, Enqueue and the fingerprints of Event when they are needed: a request that this process can refuse
	// by itself never asks for them. nil = they are set.
	Source AdmissionSource
	Result *AgedResult // of what is taken in after an outage; nil = there is none
}

// Admission is the part of a request that only the shared state needs. It is costly to make: the names are hashes, and
// the payload is encoded.
type Admission struct {
	ID          string // see [Request]
	Enqueue     *Enqueue
	Fingerprint string // see [Event]
	Answers     string // see [Event]
}

// AdmissionSource makes an Admission. It is called at most once for each copy of a request, and may be called after the call
// that the request was made for: a drop that is recorded later needs its payload then.
type AdmissionSource interface {
	Admission() (Admission, error)
}

// complete fills in what the request's Source makes.
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
	r.Event.ReplyTo = a.Answers
	return nil
}

// complete fills in what the sources of requests make.
func Complete(requests []Request) error {
	for i := range requests {
		if err := requests[i].Complete(); err != nil {
			return fmt.Errorf("%w: request %d: %w", ErrRequest, i, err)
		}
	}
	return nil
}

func (r *Request) Payload() []byte {
	if r.Enqueue == nil {
		return nil
	}
	return r.Enqueue.Payload
}

// pastOf is what became of a request that is taken in; the zero value where that is not known.
func (r *Request) OutageResult() OutageResult {
	if r.Result == nil {
		return OutageResult{}
	}
	return r.Result.OutageResult
}
