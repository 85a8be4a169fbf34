package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
)

// Restore takes in what was admitted while the engine was away; of a past that is nil, nothing is known.
func Restore(ctx context.Context, l store.Limiter, scope store.Channel, requests []store.Request, pasts []*store.OutageResult, replica string, sequence int64) error {
	requests = slices.Clone(requests)
	for i, past := range pasts {
		if past != nil {
			requests[i].Result = &store.AgedResult{OutageResult: *past}
		}
	}
	return l.(store.Engine).Restore(ctx, scope, requests, store.MergeID{Replica: replica, Sequence: sequence})
}

var Queue = store.Channel{Group: Scope.Group, Name: Scope.Name}

// tester is a test, or a check of a property.
type tester interface {
	require.TestingT
	Context() context.Context
}

// returning is an engine that takes in what was admitted without it, the outbox beside it, and their clock.
type Returning struct {
	Limiter store.Limiter
	Box     store.Outbox
	Advance func(time.Duration)
	from    string // the replica that folds
	Folds   int64
}

func OnMemory() *Returning {
	now := StartTime
	data := memory.NewData(memory.DataOptions{Now: func() time.Time { return now }})
	return &Returning{
		Limiter: memory.New(data, memory.Options{}), Box: memory.New(data, memory.Options{Options: store.Options{Owner: "a"}}),
		Advance: func(d time.Duration) { now = now.Add(d) }, from: "replica",
	}
}

func OnClockedRedis(t *testing.T, client *redis.Client) *Returning {
	t.Helper()
	clocked := redistest.NewClocked(t, client, StartTime)
	return &Returning{
		Limiter: redisstore.New(clocked, redisstore.Options{Now: clocked.Now}), Box: redisstore.New(clocked, redisstore.Options{Options: store.Options{Owner: "a"}}),
		Advance: clocked.Advance, from: "replica",
	}
}

// takesIn runs a test on both engines.
func TakesIn(t *testing.T, behaviour func(t *testing.T, e *Returning)) {
	t.Helper()
	engines := map[string]func() *Returning{
		"memory": OnMemory,
		"redis":  func() *Returning { return OnClockedRedis(t, redistest.Start(t).Client()) },
	}
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, engine())
		})
	}
}

func (e *Returning) Restore(t tester, requests []store.Request, pasts ...*store.OutageResult) {
	e.Folds++
	require.NoError(t, Restore(t.Context(), e.Limiter, Scope, requests, pasts, e.from, e.Folds))
}

func (e *Returning) Admit(t tester, requests ...store.Request) []store.Outcome {
	decisions, err := e.Limiter.Admit(t.Context(), Scope, requests)
	require.NoError(t, err)
	return OutcomesOf(decisions)
}

func (e *Returning) Ledger(t tester) store.Ledger {
	report, err := e.Limiter.Report(t.Context(), Scope)
	require.NoError(t, err)
	require.Zero(t, report.Ledger.Imbalance())
	return report.Ledger
}

func (e *Returning) Claim(t tester, settle time.Duration) store.Claim {
	claim, err := e.Box.Claim(t.Context(), Queue, store.Terms{Pace: store.Pace{Burst: 1}, LookupDelay: settle}, false)
	require.NoError(t, err)
	claim.Until = time.Time{}
	return claim
}

func (e *Returning) Record(t tester, number int64) *store.PostedMessage {
	record, err := e.Box.PostedMessage(t.Context(), Queue, number)
	require.NoError(t, err)
	return record
}

func (e *Returning) Dead(t tester) []store.DeadLetter {
	letters, err := e.Box.DeadLetters(t.Context(), Queue, "", 10)
	require.NoError(t, err)
	for i := range letters {
		letters[i].ID, letters[i].At = "", time.Time{}
	}
	return append([]store.DeadLetter{}, letters...)
}
