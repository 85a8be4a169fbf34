package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Start makes a store for a test: empty, at [StartTime].
type Start func(tb testing.TB) Fixture

// Limiter is what decides: a store, or a replica in front of one.
type Limiter interface {
	store.Admissions
	store.Counts
	store.Availability
}

// Fixture is a store under test: several senders of one channel, and a clock that the test moves.
type Fixture struct {
	// Limiter admits. In a fixture for [Run] it is C.
	Limiter
	// A and B are two senders, made with [SenderA] and [SenderB].
	A, B store.Store
	// C is a third sender, whose [store.Options] but Owner are the defaults.
	C store.Store

	// Clock is the time of the store, and Advance moves it, forward or back. Nothing else does.
	Clock   func() time.Time
	Advance func(d time.Duration)

	// Fresh empties the store and sets its clock to [StartTime]; the senders of what it returns remember nothing.
	// Random histories begin with it.
	Fresh func() Fixture
	// Save returns what brings back all that the store contains now, as a server does that restarts from an older
	// snapshot. The senders and the clock stay.
	Save func(tb testing.TB) (restore func())
	// Snapshot is all that the store contains but its leases, to be compared with another of the same store.
	Snapshot func(tb testing.TB) any
	// Queued tells whether an entry is in the outbox under its number and the time of its admission.
	Queued func(tb testing.TB, entry store.Entry) bool
	// DueIndex is when to look at each work next, by the names that Keys.Work of package lua returns, in microseconds of the store's time.
	DueIndex func(tb testing.TB) map[string]int64
	// Leave takes the oldest units out of the backlog at key, as settling their entries does.
	Leave func(t require.TestingT, key string, units int64)
	// Decisions is how many random decisions [Run] compares with the oracle for each strategy. Default 1,500.
	Decisions int
}

// Options of the first two senders of a [Fixture].
var (
	SenderA = store.Options{Owner: "a", DeadLetters: 2, Problems: 6}
	SenderB = store.Options{Owner: "b", DeadLetters: 2, Problems: 6}
)

// sender is A or B.
func (b Fixture) sender(i int) store.Store { return []store.Store{b.A, b.B}[i] }

// ToTheGrid moves the clock to the next whole minute, where buckets and aligned windows begin.
func (b Fixture) ToTheGrid() { b.Advance(b.Now().Truncate(time.Minute).Add(time.Minute).Sub(b.Now())) }

// UsedOf is how many units of the first window of a level are used, whatever its strategy.
func (b Fixture) UsedOf(t *testing.T, level ratelimit.Level) int64 {
	t.Helper()
	request := ratelimit.Request{ID: "peek", Levels: []ratelimit.Level{level}, N: 1_000}
	answer, err := b.Peek(t.Context(), Scope, []store.Request{{Request: request}})
	require.NoError(t, err)
	return answer.Decisions[0].Remaining[0].Used
}

// tester is a test, or a check of a property.
type tester interface {
	require.TestingT
	Context() context.Context
}

// Now is the time of the store.
func (b Fixture) Now() time.Time { return b.Clock() }

// MustAdmit admits to [Scope].
func (b Fixture) MustAdmit(t *testing.T, requests ...store.Request) []store.Decision {
	t.Helper()
	answer, err := b.Admit(t.Context(), Scope, requests)
	require.NoError(t, err)
	require.Len(t, answer.Decisions, len(requests))
	for _, d := range answer.Decisions {
		require.Equal(t, d.Outcome == store.Duplicate, d.Duplicate)
	}
	return answer.Decisions
}

// AdmitOne admits one request to [Scope].
func (b Fixture) AdmitOne(t *testing.T, request store.Request) store.Decision {
	t.Helper()
	return b.MustAdmit(t, request)[0]
}

// method returns the method of a mode: of admit, peek, promote or force.
func (b Fixture) method(mode store.Mode) store.DecideFunc {
	return map[store.Mode]store.DecideFunc{
		store.ModeAdmit: b.Admit, store.ModePeek: b.Peek, store.ModePromote: b.Promote, store.ModeForce: b.Force,
	}[mode]
}

// PromoteOne promotes one delayed message of [Scope], by its number.
func (b Fixture) PromoteOne(t *testing.T, request store.Request, number int64) store.Decision {
	t.Helper()
	request.Delayed = number
	answer, err := b.Promote(t.Context(), Scope, []store.Request{request})
	require.NoError(t, err)
	return answer.Decisions[0]
}

// MustReport is the report of [Scope].
func (b Fixture) MustReport(t *testing.T) store.Report {
	t.Helper()
	report, err := b.Report(t.Context(), Scope)
	require.NoError(t, err)
	return report
}

// AdmitCategories admits an event of each of so many categories, a multiple of 100.
func (b Fixture) AdmitCategories(t *testing.T, l Limits, name string, n int) {
	t.Helper()
	for batch := range n / 100 {
		var requests []store.Request
		for i := range 100 {
			category := fmt.Sprintf(name, batch*100+i)
			requests = append(requests, l.Request(category, category))
		}
		b.MustAdmit(t, requests...)
	}
}

// Usage is how many units of the channel level of a request are used.
func (b Fixture) Usage(t *testing.T, r store.Request) int64 {
	t.Helper()
	usage, err := store.UsageOf(t.Context(), b, Scope, r.Levels[:1])
	require.NoError(t, err)
	return usage[0].Used
}

// Used is how many units of the first window of a level are used.
func (b Fixture) Used(t *testing.T, level ratelimit.Level) int64 {
	t.Helper()
	usage, err := store.UsageOf(t.Context(), b, Scope, []ratelimit.Level{level})
	require.NoError(t, err)
	return usage[0].Used
}
