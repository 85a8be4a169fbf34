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
	// DecidedBy is what decisions say of who made them. Default [store.ByMemory].
	DecidedBy store.DecidedBy
	// KeepResults keeps what happened to each message until [Store.TakeBack] asks for it.
	KeepResults bool
	// PaceDivisor is how many senders each keep to the pace and the budgets by themselves, so that this one uses its
	// share of them. Default 1.
	PaceDivisor func() int64
}

func (o Options) paceDivisor() int64 {
	if o.PaceDivisor == nil {
		return 1
	}
	return max(1, o.PaceDivisor())
}

// Store is the twin of the one on Redis for a single process. It decides exactly as the scripts do, step by step, and
// is not durable: what is pending ends with the process. Stores on the same [Data] are senders that share a channel.
// The waits that it answers are in wall time.
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

// Durable is false.
func (*Store) Durable() bool { return false }

// Ping always succeeds.
func (*Store) Ping(context.Context) error { return nil }

// pacing is when the bucket of a pace or a budget is empty again.
type pacing struct{ emptyAt int64 }

func (m *Store) dedupe() int64 { return m.opts.Dedupe.Microseconds() }
