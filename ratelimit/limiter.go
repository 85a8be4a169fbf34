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
package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"slackrelay/lua"
)

// MaxBatch is the most requests in one call: a script that ran longer would make everybody else wait
// (8 to 12 ms for a thousand).
const MaxBatch = 128

// Window admits at most Limit units in any half-open interval of length Per.
type Window struct {
	Limit int64
	Per   time.Duration
}

// Tier describes one level before it is known whose it is: the channel, each category, each sender.
type Tier struct {
	Name     string   // "channel", "category", "sender", or a label's name: used in replies and metrics
	Windows  []Window // every one must pass; different lengths
	Strategy Strategy // the sliding log by default
	Shadow   bool     // evaluate and report, never refuse
}

// Outer is the tier as the one level that all channels of a limit group share.
func ChannelLevel(t Tier, group string) Level {
	return t.level(lua.KeysOf(group, "").OuterLimit(t.Strategy.tag()))
}

// maxValue is how long a level's value may be in its key; a label can be of any length.
const maxValue = 128

// Of is the tier as the level of one of its values (a category's name, a sender's) within a channel.
func LevelOf(t Tier, scope Scope, value string) Level {
	if len(value) > maxValue {
		sum := sha256.Sum256([]byte(value))
		value = value[:maxValue/2] + "-" + hex.EncodeToString(sum[:8])
	}
	return t.level(scope.keys().InnerLimit(t.Strategy.tag(), t.Name, value))
}

func (t Tier) level(key string) Level {
	return Level{Name: t.Name, Key: key, Windows: t.Windows, Strategy: t.Strategy, Shadow: t.Shadow}
}

// Level is one tier of the limiter for one of its values. Make one with [Tier.Outer], [Tier.Of], or for the
// plain sliding log with [Outer] and [Inner].
type Level struct {
	Name     string // "channel", "category", ...: used in replies and metrics
	Key      string // where its state is; all levels of a call share one hash tag
	Windows  []Window
	Strategy Strategy
	Shadow   bool // evaluate and report, never refuse
}

// The names of the levels that fairness is about.
const (
	LevelChannel  = "channel"
	LevelCategory = "category"
)

// Outer is the level that all channels of a limit group share.
func Outer(group string, windows ...Window) Level {
	return ChannelLevel(Tier{Name: LevelChannel, Windows: windows}, group)
}

// Inner is the level of one value of name (name "category", value "errors") within a channel.
func Inner(scope Scope, name, value string, windows ...Window) Level {
	return LevelOf(Tier{Name: name, Windows: windows}, scope, value)
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
	// Headroom is how many units of the first level's first window this request must leave free; see
	// [Headroom]. 0 = it may use all.
	Headroom int64
	Fairness *Fairness // nil = none; the same for all requests of a call
	Handling *Handling // nil = none; the same for all requests of a call
	Event    Event     // what the handling needs to know
	// Delayed asks again for what waits for a slot, by its number; so do all requests of the call then. It is
	// admitted, or still delayed, or dropped because it has waited too long; it is not received again.
	Delayed int64
	// Forced is posted whatever the limits say, because somebody with the right to wants it; so are all requests of the
	// call then. It takes no units: what the limits promise holds for all others, and [Ledger.Forced] counts it.
	Forced  bool
	Enqueue *Enqueue
	// Complete fills in ID and Enqueue once they are needed: a request that is known to be refused is never
	// completed. nil = they are there. It is called at most once, on the caller's request.
	Complete func(r *Request) error
	past     *returned // of what is taken in after an outage; nil = there is none
}

// complete has requests filled in.
func complete(requests []Request) error {
	for i := range requests {
		if f := requests[i].Complete; f != nil {
			requests[i].Complete = nil
			if err := f(&requests[i]); err != nil {
				return fmt.Errorf("%w: request %d: %w", ErrRequest, i, err)
			}
		}
	}
	return nil
}

// Decision is the answer to one request.
type Decision struct {
	Outcome    Outcome
	Level      string        // the level that refused, the outermost where several did
	Window     Window        // of that level, the one that refuses longest
	Refused    []string      // all levels that refused, outermost first
	Shadow     []string      // shadow levels that would have refused
	RetryAfter time.Duration // earliest time it could fit if nobody else commits; negative for Never
	// Remaining is per level and window, after a commit, or as it stands on a refusal; empty where nobody looked: for a
	// duplicate, and for what the closed-until cache refused.
	Remaining []Remaining
	DecidedBy DecidedBy
	// Durable is false where what was decided ends with this process.
	Durable bool
}

// Remaining is how full one window of a level is.
type Remaining struct {
	Level  string
	Window Window
	Used   int64 // units; above the limit where that was lowered
	Units  int64 // how many more would fit now, holds for fairness not taken into account
}

// Report is the state of a channel, read in one instant.
type Report struct {
	Ledger      Ledger
	Oldest      time.Duration // age of the oldest message in the outbox; 0 when there is none
	PausedFor   time.Duration // 0 when the channel is not paused
	PauseReason string        // [Settling], or why its sender paused it
}

// Settling is why a channel waits whose next message may have been posted: it is too early to look.
const Settling = "settling"

// CategoryCounts are the counts of one category over the last 24 hours.
type CategoryCounts struct {
	Category string
	Admitted int64
	Dropped  int64
}

// MinuteCount is how many events of a category were admitted and dropped within a minute.
type MinuteCount struct {
	At       time.Time // when the minute began
	Category string    // "other" where there were too many
	Admitted int64
	Dropped  int64
}

// Limiter decides and counts. A refusal is never an error of Admit; [Wait] and [Do] make one of it.
type Limiter interface {
	// Admit decides up to MaxBatch requests in one round trip, in order: each sees the ones before it.
	// An error that is ErrUnavailable means that it is unknown whether they were committed; a repeat
	// with the same ids spends nothing twice. Any other error means that nothing was written.
	Admit(ctx context.Context, scope Scope, requests []Request) ([]Decision, error)
	// Peek decides each of up to MaxBatch requests by itself, and spends and counts nothing.
	Peek(ctx context.Context, scope Scope, requests []Request) ([]Decision, error)
	// Mute counts n events that were received and kept out on purpose.
	Mute(ctx context.Context, scope Scope, n int64) error
	// Refund gives back what a request spent, because it provably never reached its channel. Its id stays
	// remembered. A repeat is harmless, and so is the refund of what was never admitted.
	Refund(ctx context.Context, scope Scope, request Request) error
	// Reset empties levels.
	Reset(ctx context.Context, levels ...Level) error
	// Report reads the ledger and the state of a channel.
	Report(ctx context.Context, scope Scope) (Report, error)
	// Categories reads the counts of the last 24 hours, in the order of the names.
	Categories(ctx context.Context, scope Scope) ([]CategoryCounts, error)
	// Minutes reads how many events of each category were admitted and dropped in each minute since a time ago, at most
	// [MaxBack], in the order of time and name; minutes without any are left out. It answers the store's time too.
	Minutes(ctx context.Context, scope Scope, back time.Duration) (now time.Time, all []MinuteCount, err error)
	// Drops reads the record of what was dropped, newest first: what is older than an id ("" = all), so many at
	// most.
	Drops(ctx context.Context, scope Scope, before string, most int) ([]Drop, error)
	// Warming remembers how long the tiers of a channel look back, and tells for how long each still counts too
	// little, because its longest window was lengthened; 0 = not at all.
	Warming(ctx context.Context, scope Scope, tiers []Tier) ([]time.Duration, error)
	// Ping tells whether decisions can be made now.
	Ping(ctx context.Context) error
	// Durable tells whether an admission survives the death of this process.
	Durable() bool
}

// ErrUnavailable wraps every transport error: it is unknown whether the call was committed.
var ErrUnavailable = errors.New("limiter unavailable")

// errNotSent marks an [ErrUnavailable] of a call that certainly was not carried out.
var errNotSent = errors.New("not carried out")

// ErrRequest wraps every request that makes no sense; nothing was written.
var ErrRequest = errors.New("bad limiter request")

// LimitedError is a refusal, as [Wait] and [Do] report it. It is apart from any error of the service that the
// limit protects.
type LimitedError struct {
	Level      string        // the level that refused, the outermost where several did
	Window     Window        // its window that is full
	RetryAfter time.Duration // until it could fit; negative where it never can
}

// Error implements error.
func (e *LimitedError) Error() string {
	if e.RetryAfter < 0 {
		return fmt.Sprintf("limited by %s: it can never fit into %d per %s", e.Level, e.Window.Limit, e.Window.Per)
	}
	return fmt.Sprintf("limited by %s, %d per %s: retry after %s", e.Level, e.Window.Limit, e.Window.Per, e.RetryAfter)
}
