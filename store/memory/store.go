// Package memory is the store of a single process: the same state machine as the scripts of package lua, without Redis.
//
// It has four uses. It is the default store of a relay that has no Redis configured, and of programs that embed the
// limiter. It decides within a replica while Redis is away ([Store.Seed], [Store.Forget], [Store.TakeBack]). It is the
// engine of "relay simulate", whose clock it takes from [DataOptions]. And it is a second opinion: property tests run
// the same calls against it and against Redis, and expect the same answers.
//
// Each script has its twin in the Go file of the same name, which decides in the same order. What several scripts share
// is in files named after the parts of the scripts: "messages_groups.go" is the twin of the part "messages/groups", and
// "messages_earlier.go" that of "attach", "earlier" and "edits". The values of the keys are in the files "value_*.go". A
// method reads and writes the values of its channel through a channelTx.
//
// Nothing is durable: what is pending is lost when the process ends.
package memory

import (
	"context"

	"slackrelay/store"
)

// Options configure a [Store]. The zero value is one sender with the defaults of [store.Options]:
//
//	data := memory.NewData(memory.DataOptions{})
//	s := memory.New(data, memory.Options{Options: store.Options{Owner: "relay-1"}})
type Options struct {
	store.Options
	// DecidedBy is what decisions give as their origin. Default [store.ByMemory].
	DecidedBy store.DecidedBy
	// KeepResults keeps the result of each message until [Store.TakeBack] collects it. Default: results are not kept.
	KeepResults bool
	// PaceDivisor returns how many senders share the pace and the budgets without a common store, so that this one uses
	// its share of them. Values below 1 count as 1. Default 1.
	PaceDivisor func() int64
}

func (o Options) paceDivisor() int64 {
	if o.PaceDivisor == nil {
		return 1
	}
	return max(1, o.PaceDivisor())
}

// Store implements [store.Store] within a process. Stores on the same [Data] are senders that share its channels. The
// waits that it returns are in wall time.
type Store struct {
	data  *Data
	opts  Options
	calls store.ClaimCalls
}

var _ store.Store = (*Store)(nil)

// New makes a Store on data.
func New(data *Data, opts Options) *Store {
	opts.Options = opts.WithDefaults()
	if opts.DecidedBy == "" {
		opts.DecidedBy = store.ByMemory
	}
	return &Store{data: data, opts: opts}
}

// Durable returns false: an admission ends with the process.
func (*Store) Durable() bool { return false }

// Ping always succeeds.
func (*Store) Ping(context.Context) error { return nil }

// dedupe is how long an admitted id is remembered, in microseconds.
func (s *Store) dedupe() int64 { return s.opts.Dedupe.Microseconds() }
