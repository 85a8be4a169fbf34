package ratelimit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
	"slackrelay/lua/redistest"
	"slackrelay/outbox"
	"slackrelay/ratelimit"
)

var queue = outbox.Channel{Group: scope.Group, Name: scope.Channel}

// tester is a test, or a check of a property.
type tester interface {
	require.TestingT
	Context() context.Context
}

// returning is an engine that takes in what was admitted without it, the outbox beside it, and their clock.
type returning struct {
	limiter ratelimit.Limiter
	box     outbox.Outbox
	advance func(time.Duration)
	from    string // the replica that folds
	folds   int64
}

func onMemory() *returning {
	now := start
	store := memstore.New(memstore.Options{Now: func() time.Time { return now }})
	return &returning{
		limiter: ratelimit.NewMemory(store, 0), box: outbox.NewMemory(store, outbox.Options{Owner: "a"}),
		advance: func(d time.Duration) { now = now.Add(d) }, from: "replica",
	}
}

func onClockedRedis(t *testing.T, client *redis.Client) *returning {
	t.Helper()
	clocked := redistest.NewClocked(t, client, start)
	return &returning{
		limiter: ratelimit.NewRedis(clocked, ratelimit.RedisOptions{Now: clocked.Now}), box: outbox.NewRedis(clocked, outbox.Options{Owner: "a"}),
		advance: clocked.Advance, from: "replica",
	}
}

// takesIn runs a test on both engines.
func takesIn(t *testing.T, behaviour func(t *testing.T, e *returning)) {
	t.Helper()
	engines := map[string]func() *returning{
		"memory": onMemory,
		"redis":  func() *returning { return onClockedRedis(t, redistest.Start(t).Client()) },
	}
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, engine())
		})
	}
}

func (e *returning) restore(t tester, requests []ratelimit.Request, pasts ...*ratelimit.Past) {
	e.folds++
	require.NoError(t, ratelimit.Restore(t.Context(), e.limiter, scope, requests, pasts, e.from, e.folds))
}

func (e *returning) admit(t tester, requests ...ratelimit.Request) []ratelimit.Outcome {
	decisions, err := e.limiter.Admit(t.Context(), scope, requests)
	require.NoError(t, err)
	return outcomesOf(decisions)
}

func (e *returning) ledger(t tester) ratelimit.Ledger {
	report, err := e.limiter.Report(t.Context(), scope)
	require.NoError(t, err)
	require.Zero(t, report.Ledger.Imbalance())
	return report.Ledger
}

func (e *returning) claim(t tester, settle time.Duration) outbox.Claim {
	claim, err := e.box.Claim(t.Context(), queue, outbox.Terms{Pace: outbox.Pace{Burst: 1}, Settle: settle}, false)
	require.NoError(t, err)
	claim.Until = time.Time{}
	return claim
}

func (e *returning) record(t tester, number int64) *outbox.Record {
	record, err := e.box.Record(t.Context(), queue, number)
	require.NoError(t, err)
	return record
}

func (e *returning) dead(t tester) []outbox.DeadLetter {
	letters, err := e.box.DeadLetters(t.Context(), queue, "", 10)
	require.NoError(t, err)
	for i := range letters {
		letters[i].ID, letters[i].At = "", time.Time{}
	}
	return append([]outbox.DeadLetter{}, letters...)
}

// What a replica tried to post by itself keeps its doubt, under the name that it was posted as, and what it had tried.
func TestRestoredDoubt(t *testing.T) {
	t.Parallel()
	takesIn(t, func(t *testing.T, e *returning) {
		past := &ratelimit.Past{
			Age: 40e6, Attempts: 2, Faults: 1, Sent: 30e6, Tried: 20e6, Looked: 1, Name: "7@1700000000000000",
		}
		e.restore(t, []ratelimit.Request{narrow.request("1", "c"), narrow.request("2", "c")}, past, nil)
		require.Equal(t, ratelimit.Ledger{Received: 2, Admitted: 2, Pending: 2}, e.ledger(t))
		claim := e.claim(t, 10*time.Second)
		require.Equal(t, []any{outbox.Settling, 10 * time.Second}, []any{claim.State, claim.Wait}, "since the last attempt, three times as long")
		e.advance(10 * time.Second)
		claim = e.claim(t, 10*time.Second)
		require.Equal(t, outbox.Claim{State: outbox.Claimed, Entry: outbox.Entry{
			Number: 1, Kind: "message", Payload: []byte(`{"id":"1"}`), Attempts: 2, Faults: 1, Age: 50 * time.Second,
			At: start.Add(-40 * time.Second).UnixMicro(), Looked: 1, Name: "7@1700000000000000", Doubt: claim.Entry.Doubt,
		}}, claim)
		require.Equal(t, start.Add(-30*time.Second).UnixMicro(), claim.Entry.Doubt.UnixMicro())
		require.NoError(t, e.box.Ack(t.Context(), queue, claim.Entry, outbox.Receipt{TS: "1.1"}))
		second := e.claim(t, 10*time.Second).Entry
		require.True(t, second.Doubt.IsZero())
		require.Equal(t, fmt.Sprintf("2@%d", second.At), second.PostedAs())
		require.NoError(t, e.box.Ack(t.Context(), queue, second, outbox.Receipt{TS: "1.2"}))
		require.Equal(t, ratelimit.Ledger{Received: 2, Admitted: 2, Delivered: 2}, e.ledger(t))
	})
}

// What ended without Redis has ended: dead letters are dead letters, what expired has expired. What certainly never
// appeared gives its slot back.
func TestRestoredEnds(t *testing.T) {
	t.Parallel()
	takesIn(t, func(t *testing.T, e *returning) {
		requests := []ratelimit.Request{
			narrow.request("refused", "c"), narrow.request("unknown", "c"), narrow.request("old", "c"), narrow.request("posted", "c"),
		}
		pasts := []*ratelimit.Past{
			{Result: lua.Failed, Reason: "is_archived", Answer: "no", Attempts: 1, Keep: 10},
			{Result: lua.Failed, Reason: "unknown", Answer: "it may have been posted", Attempts: 2, Keep: 10, Shown: true},
			{Result: lua.Expired},
			{Result: lua.Delivered, TS: "1.1", Channel: "C1"},
		}
		e.restore(t, requests, pasts...)
		e.folds--
		e.restore(t, requests, pasts...) // its answer was lost
		want := ratelimit.Ledger{Received: 4, Admitted: 4, Failed: 2, Expired: 1, Delivered: 1}
		require.Equal(t, want, e.ledger(t), "once")
		require.Equal(t, outbox.Empty, e.claim(t, 0).State, "nothing is posted again")
		require.Equal(t, []outbox.DeadLetter{
			{Number: 2, Kind: "message", Payload: []byte(`{"id":"unknown"}`), Reason: "unknown", Answer: "it may have been posted", Attempts: 2},
			{Number: 1, Kind: "message", Payload: []byte(`{"id":"refused"}`), Reason: "is_archived", Answer: "no", Attempts: 1},
		}, e.dead(t))
		usage, err := ratelimit.UsageOf(t.Context(), e.limiter, scope, requests[0].Levels[:1])
		require.NoError(t, err)
		require.EqualValues(t, 2, usage[0].Used, "the one in doubt and the one that was posted")
		require.Equal(t, fill(ratelimit.Duplicate, 4), e.admit(t, requests...))
	})
}

// A firing that was posted without Redis is found by its repeats and its resolve.
func TestRestoredFiringsAreFound(t *testing.T) {
	t.Parallel()
	takesIn(t, func(t *testing.T, e *returning) {
		h := &ratelimit.Handling{Overflow: "drop", Resolves: "edit", Repeats: true}
		e.restore(t, []ratelimit.Request{narrow.told(h, "1", "c", ratelimit.Firing, "f")},
			&ratelimit.Past{Result: lua.Delivered, TS: "1.1", Channel: "C1", Age: 5e6})
		require.Equal(t, &outbox.Record{
			Category: "c", At: start.Add(-5 * time.Second).UnixMicro(), Shown: true, TS: "1.1", Channel: "C1",
			Events: []lua.RecordEvent{{Fingerprint: "f", Payload: `{"id":"1"}`}},
		}, e.record(t, 1))
		require.Equal(t, []ratelimit.Outcome{merged, merged}, e.admit(t,
			narrow.told(h, "2", "c", ratelimit.Firing, "f"), narrow.told(h, "3", "c", ratelimit.Resolved, "f")))
		record := e.record(t, 1)
		require.EqualValues(t, 1, record.Repeats)
		require.Positive(t, record.Events[0].Resolved)
	})
}

// Where nobody knows where a message is in Slack, nothing is merged into it: it would be shown nowhere.
func TestNothingIsMergedIntoASilentMessage(t *testing.T) {
	t.Parallel()
	takesIn(t, func(t *testing.T, e *returning) {
		h := &ratelimit.Handling{Overflow: "merge", Resolves: "edit", Repeats: true}
		told := func(id string, status ratelimit.Status, fingerprint string) ratelimit.Request {
			return narrow.told(h, id, "c", status, fingerprint)
		}
		posted := &ratelimit.Past{Result: lua.Delivered}
		e.restore(t, []ratelimit.Request{told("1", ratelimit.Firing, "f"), told("2", "", "u")}, posted, posted)
		require.Equal(t, []ratelimit.Outcome{dropped}, e.admit(t, told("3", ratelimit.Firing, "f")), "the levels are asked, and full")
		e.advance(time.Minute)
		require.Equal(t, []ratelimit.Outcome{admitted, admitted}, e.admit(t, told("4", ratelimit.Firing, "f"), told("5", ratelimit.Update, "u")),
			"a message of its own")
		require.Equal(t, []ratelimit.Outcome{merged, merged}, e.admit(t, told("6", ratelimit.Firing, "f"), told("7", ratelimit.Update, "u")),
			"which the next ones are merged into")

		e.advance(2 * time.Minute)
		require.NoError(t, e.box.Bury(t.Context(), queue, e.claim(t, 0).Entry, outbox.Death{Reason: "unknown", Shown: true}))
		require.Equal(t, []ratelimit.Outcome{admitted}, e.admit(t, told("8", ratelimit.Firing, "f")), "nor into a dead letter")
	})
}

// A message that can be edited is not forgotten for one of which nobody knows where it is.
func TestRestoredRepeatsLeaveTheMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		past   ratelimit.Past
		posted bool  // the durable one, before the outage
		number int64 // that the alert stands for afterwards
	}{
		"without its place":               {ratelimit.Past{Result: lua.Delivered}, true, 1},
		"with its place":                  {ratelimit.Past{Result: lua.Delivered, TS: "2.2", Channel: "C1", Age: 1e6}, true, 2},
		"the durable one waits":           {ratelimit.Past{Result: lua.Delivered}, false, 1},
		"a dead letter":                   {ratelimit.Past{Result: lua.Failed, Keep: 1}, true, 1},
		"a dead letter, perhaps in Slack": {ratelimit.Past{Result: lua.Failed, Keep: 1, Shown: true}, true, 1},
		"older than the durable one":      {ratelimit.Past{Result: lua.Delivered, TS: "2.2", Age: 120e6}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			takesIn(t, func(t *testing.T, e *returning) {
				h := &ratelimit.Handling{Overflow: "drop", Resolves: "edit", Repeats: true}
				e.admit(t, narrow.told(h, "1", "c", ratelimit.Firing, "f"))
				if c.posted {
					require.NoError(t, e.box.Ack(t.Context(), queue, e.claim(t, 0).Entry, outbox.Receipt{TS: "1.1", Channel: "C1"}))
				}
				e.advance(time.Minute)
				e.restore(t, []ratelimit.Request{narrow.told(h, "2", "c", ratelimit.Firing, "f")}, &c.past)
				require.Equal(t, []ratelimit.Outcome{merged}, e.admit(t, narrow.told(h, "3", "c", ratelimit.Firing, "f")))
				require.EqualValues(t, 1, e.record(t, c.number).Repeats)
			})
		})
	}
}

// An alert that was over while Redis was away is another one when it fires again.
func TestRestoredResolvesEndAnAlert(t *testing.T) {
	t.Parallel()
	takesIn(t, func(t *testing.T, e *returning) {
		wide := limits{channel: perMinute(100), category: perMinute(100)}
		h := &ratelimit.Handling{Overflow: "drop", Resolves: "edit", Repeats: true}
		for i, past := range []*ratelimit.Past{{Result: lua.Delivered, TS: "2.2", Age: 1e6}, {Age: 1e6}} {
			id := func(name string) string { return fmt.Sprint(name, i) }
			require.Equal(t, []ratelimit.Outcome{admitted}, e.admit(t, wide.told(h, id("1"), "c", ratelimit.Firing, "f")))
			e.advance(time.Minute)
			e.restore(t, []ratelimit.Request{wide.told(h, id("2"), "c", ratelimit.Resolved, "f")}, past)
			require.Equal(t, []ratelimit.Outcome{admitted}, e.admit(t, wide.told(h, id("3"), "c", ratelimit.Firing, "f")), "no repeat")
			e.restore(t, []ratelimit.Request{wide.told(h, id("4"), "c", ratelimit.Resolved, "f")}, &ratelimit.Past{Result: lua.Delivered, Age: 30e6})
			require.Equal(t, []ratelimit.Outcome{merged}, e.admit(t, wide.told(h, id("5"), "c", ratelimit.Firing, "f")), "what was over before is not this one")
			e.advance(time.Minute)
			e.restore(t, []ratelimit.Request{wide.told(h, id("6"), "c", ratelimit.Resolved, "f")}, &ratelimit.Past{Result: lua.Delivered, Age: 1e6})
		}
	})
}
