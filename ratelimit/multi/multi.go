// Package multi is a rate limiter for Redis servers without scripting: counters with INCRBY in a MULTI, decided in
// the process that asks. It is a library of its own. The relay does not serve with it, because the outbox needs
// scripts; relay simulate plays traces against it (--try engine=multi).
//
// A call takes two round trips. The first adds the units of every request to the counters of its windows. The second
// takes back what was refused, and remembers the ids of what was admitted. Compared with the scripts this costs
// accuracy, which nothing but a script can restore:
//
//   - Refused units count until they are taken back, so concurrent callers can refuse each other while a slot is free.
//   - A process that dies between the two steps leaves its units counted until their window ends. Until 10 s have
//     passed, a repeat of one of its ids returns [ratelimit.ErrUnavailable].
//   - Units that are taken back later than [Options.UndoMargin] can fall into the next window, which then admits as
//     many too many.
//
// It supports two strategies: [ratelimit.FixedWindow] with the anchor first, which admits at most 2L - 1 units in any
// window of its length, and [PerSecond], which admits at most 2L in any second. It supports neither shadow levels nor
// fairness, and it counts nothing but limits: no ledger, no drops, no outbox.
//
// Every key that it writes is a string with a TTL: one counter for each window of a level (the window's length; 2 s
// for per-second), and one for each id (10 s, then [Options.Dedupe]).
package multi

import (
	"context"
	"fmt"
	"time"

	"slackrelay/ratelimit"
)

// PerSecond counts each second of the server's clock in a key of its own, by INCRBY and EXPIRE in one pipeline.
const PerSecond ratelimit.StrategyKind = "per-second"

// Options configure a [Limiter]. The zero value is ready to use:
//
//	limiter := multi.New(client, multi.Options{IDs: "relay:{api}:ids", Dedupe: 10 * time.Minute})
type Options struct {
	// IDs is what the keys of the ids begin with. Limiters with the same one know each other's ids. In a Redis Cluster, it
	// needs the hash tag of the levels. Default "relay:ids".
	IDs string
	// Dedupe is how long an admitted id is remembered. Default [ratelimit.DefaultDedupe], 1 h.
	Dedupe time.Duration
	// Overshot is called with refused units that stay counted, because their window ends before they can be taken
	// back safely. Default: not called.
	Overshot func(level string, units int64)
	// UndoMargin is how much longer a window must last for refused units to be taken back. Default 100 ms.
	UndoMargin time.Duration
}

func (o Options) withDefaults() Options {
	if o.IDs == "" {
		o.IDs = "relay:ids"
	}
	if o.Dedupe == 0 {
		o.Dedupe = ratelimit.DefaultDedupe
	}
	if o.UndoMargin == 0 {
		o.UndoMargin = 100 * time.Millisecond
	}
	if o.Overshot == nil {
		o.Overshot = func(string, int64) {}
	}
	return o
}

// Limiter decides with counters. Make one with [New] or [NewMemory]. It is safe for concurrent use.
type Limiter struct {
	counters counters
	opts     Options
}

var _ ratelimit.Limiter = (*Limiter)(nil)

// pendingFor is how long an id is kept from others while its call is between its two steps.
const pendingFor = 10 * time.Second

// counters are what a Limiter needs of its store. Each method is one atomic step.
type counters interface {
	now(ctx context.Context) (time.Time, error)
	// add adds the units of calls to their windows, and claims their ids.
	add(ctx context.Context, calls []call) ([]reading, error)
	// read returns what add would, and changes nothing.
	read(ctx context.Context, calls []call) ([]reading, error)
	conclude(ctx context.Context, c conclusion, dedupe time.Duration) error
}

// call is a request with the counters of its windows, in the order of its levels.
type call struct {
	id      string
	claim   string // the key of the id
	units   int64
	windows []window
}

// window is one window of a level, with the key of its counter.
type window struct {
	ratelimit.Window
	level  string
	key    string
	lives  time.Duration // how long the counter lives
	second time.Duration // PerSecond: until the next second; else 0
}

// reading is what a call found: the state of its id, and each window with its units in it.
type reading struct {
	id      idState
	windows []total
}

type total struct {
	used int64
	ends time.Duration // until the window ends; 0 = it has not begun
}

type idState int

const (
	idNew idState = iota
	idPending
	idAdmitted
)

// conclusion is what the second step of a call writes, in this order.
type conclusion struct {
	undo     map[string]correction // by key
	released []string              // claims of ids that may be asked for again
	admitted []string              // claims of ids to remember
}

// correction is how many units to take back from a counter.
type correction struct {
	units int64
	lives time.Duration // of the counter, should it have ended meanwhile
}

// Admit decides up to [ratelimit.MaxBatch] requests, in order: each counts the ones before it. An error that is
// [ratelimit.ErrUnavailable] means that it is unknown whether they were counted; one that is [ratelimit.ErrRequest],
// that nothing was written.
func (l *Limiter) Admit(ctx context.Context, requests []ratelimit.Request) ([]ratelimit.Decision, error) {
	calls, err := l.prepare(ctx, requests)
	if err != nil {
		return nil, err
	}
	readings, err := l.counters.add(ctx, calls)
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	b := newBatch(l.opts)
	decisions := make([]ratelimit.Decision, len(calls))
	for i := range calls {
		if decisions[i], err = b.decide(calls[i], readings[i]); err != nil {
			return nil, err // nothing is concluded: what was counted ends with its windows
		}
	}
	if err := l.counters.conclude(ctx, b.conclusion, l.opts.Dedupe); err != nil {
		return nil, fmt.Errorf("conclude: %w", err)
	}
	return decisions, nil
}

// Peek decides each of up to [ratelimit.MaxBatch] requests by itself, and counts nothing.
func (l *Limiter) Peek(ctx context.Context, requests []ratelimit.Request) ([]ratelimit.Decision, error) {
	calls, err := l.prepare(ctx, requests)
	if err != nil {
		return nil, err
	}
	readings, err := l.counters.read(ctx, calls)
	if err != nil {
		return nil, fmt.Errorf("look: %w", err)
	}
	decisions := make([]ratelimit.Decision, len(calls))
	for i := range calls {
		decisions[i] = decide(calls[i], readings[i])
	}
	return decisions, nil
}
