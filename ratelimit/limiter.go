// Package ratelimit is a hierarchical rolling-window limiter that any number of processes share through
// Redis: all levels of a request pass, or nothing is spent.
//
// For every instant x, every level and every window of length W, the units admitted in (x-W, x] never
// exceed the limit. Time is Redis's own. A refusal writes nothing to any level and says exactly when the
// request could fit. An admission spends its slots, remembers its id, counts itself in the ledger and
// appends its payload to the outbox in one atomic step, so that an event is in the outbox if and only if
// it was paid for.
//
// There are two engines behind [Limiter]: [Redis], and [Memory] for a single process without Redis, which
// is not durable.
package ratelimit

import (
	"context"
	"errors"
	"time"

	"slackrelay/lua"
)

// MaxBatch is the most requests in one call: a script that ran longer would make everybody else wait
// (8 to 12 ms for a thousand).
const MaxBatch = 128

// slidingLog names the strategy in the keys, so that a change of strategy never meets another's data.
const slidingLog = "sliding-log"

// Window admits at most Limit units in any half-open interval of length Per.
type Window struct {
	Limit int64
	Per   time.Duration
}

// Level is one tier of the limiter; every one of its windows must pass. Make one with [Outer] or [Inner].
type Level struct {
	Name    string // "channel", "category", ...: used in replies and metrics
	Key     string // where its entries are; all levels of a call share one hash tag
	Windows []Window
}

// Outer is the level that all channels of a limit group share.
func Outer(group string, windows ...Window) Level {
	return Level{Name: "channel", Key: lua.KeysOf(group, "").OuterLimit(slidingLog), Windows: windows}
}

// Inner is the level of one value of name (name "category", value "errors") within a channel.
func Inner(scope Scope, name, value string, windows ...Window) Level {
	return Level{Name: name, Key: scope.keys().InnerLimit(slidingLog, name, value), Windows: windows}
}

// Scope says whose ledger, dedupe set and outbox a call belongs to.
type Scope struct {
	Group   string // the limit group; by default the channel's own name
	Channel string
}

func (s Scope) keys() lua.Keys { return lua.KeysOf(s.Group, s.Channel) }

// Kind says what an entry of the outbox is.
type Kind string

// KindMessage is an event to be posted. It spends a slot and is counted as pending.
const KindMessage Kind = "message"

// Enqueue is what an admission appends to the outbox. The payload is opaque to the limiter.
type Enqueue struct {
	Kind    Kind
	Payload []byte
}

// Request asks for N units at every level.
type Request struct {
	ID       string  // at most 40 bytes; an id admitted within the dedupe time is a duplicate
	N        int64   // units; 0 means 1
	Levels   []Level // outermost first
	Category string  // counted under this name in the series
	Enqueue  *Enqueue
}

// Outcome says what became of a request.
type Outcome int

// The outcomes, by their codes in lua/admit.lua.
const (
	Admitted  Outcome = iota + 1
	Dropped           // a level is full; RetryAfter says until when
	Duplicate         // the id was admitted before; nothing was spent
	Never             // N is more than a limit
)

// String is the outcome's name in logs.
func (o Outcome) String() string {
	switch o {
	case Admitted:
		return "admitted"
	case Dropped:
		return "dropped"
	case Duplicate:
		return "duplicate"
	case Never:
		return "never"
	default:
		return "unknown"
	}
}

// DecidedBy says which engine decided.
type DecidedBy string

// Who decides.
const (
	ByRedis  DecidedBy = "redis"
	ByMemory DecidedBy = "memory"
)

// Decision is the answer to one request.
type Decision struct {
	Outcome    Outcome
	Level      string        // the level that refused, the outermost where several did
	Refused    []string      // all levels that refused, outermost first
	RetryAfter time.Duration // earliest time it could fit if nobody else commits; negative for Never
	DecidedBy  DecidedBy
}

// Usage is how full one window of a level is.
type Usage struct {
	Level      string
	Window     Window
	Used       int64
	RetryAfter time.Duration // until one more unit fits; 0 = now, negative = never
}

// Report is the state of a channel, read in one instant.
type Report struct {
	Ledger      Ledger
	Oldest      time.Duration // age of the oldest message in the outbox; 0 when there is none
	PausedFor   time.Duration // 0 when the channel is not paused
	PauseReason string
}

// CategoryCounts are the counts of one category over the last 24 hours.
type CategoryCounts struct {
	Category string
	Admitted int64
	Dropped  int64
}

// Limiter decides and counts. A refusal is never an error.
type Limiter interface {
	// Admit decides up to MaxBatch requests in one round trip, in order: each sees the ones before it.
	// An error that is ErrUnavailable means that it is unknown whether they were committed; a repeat
	// with the same ids spends nothing twice. Any other error means that nothing was written.
	Admit(ctx context.Context, scope Scope, requests []Request) ([]Decision, error)
	// Peek tells how full the levels are, window by window, and spends nothing.
	Peek(ctx context.Context, levels []Level) ([]Usage, error)
	// Report reads the ledger and the state of a channel.
	Report(ctx context.Context, scope Scope) (Report, error)
	// Categories reads the counts of the last 24 hours, in the order of the names.
	Categories(ctx context.Context, scope Scope) ([]CategoryCounts, error)
	// Ping tells whether decisions can be made now.
	Ping(ctx context.Context) error
	// Durable tells whether an admission survives the death of this process.
	Durable() bool
}

// ErrUnavailable wraps every transport error: it is unknown whether the call was committed.
var ErrUnavailable = errors.New("limiter unavailable")

// ErrRequest wraps every request that makes no sense; nothing was written.
var ErrRequest = errors.New("bad limiter request")
