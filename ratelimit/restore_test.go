package ratelimit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
func takesIn(t *testing.T, test func(t *testing.T, e *returning)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, onMemory())
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, onClockedRedis(t, redistest.Start(t).Client()))
	})
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
		require.NoError(t, e.box.Ack(t.Context(), queue, 1, outbox.Receipt{TS: "1.1"}))
		second := e.claim(t, 10*time.Second).Entry
		require.True(t, second.Doubt.IsZero())
		require.Equal(t, fmt.Sprintf("2@%d", second.At), second.PostedAs())
		require.NoError(t, e.box.Ack(t.Context(), queue, 2, outbox.Receipt{TS: "1.2"}))
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
		require.NoError(t, e.box.Bury(t.Context(), queue, e.claim(t, 0).Entry.Number, outbox.Death{Reason: "unknown", Shown: true}))
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
					require.NoError(t, e.box.Ack(t.Context(), queue, e.claim(t, 0).Entry.Number, outbox.Receipt{TS: "1.1", Channel: "C1"}))
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

// The twins take in alike, whatever comes.
func TestTheTwinsRestoreAlike(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	rapid.Check(t, func(rt *rapid.T) {
		require.NoError(rt, client.FlushAll(rt.Context()).Err())
		h := &restoring{engines: []*returning{onMemory(), onClockedRedis(t, client)}}
		h.handling = &ratelimit.Handling{
			Overflow:   rapid.SampledFrom([]ratelimit.Overflow{"drop", "merge", "delay"}).Draw(rt, "overflow"),
			MaxDelayed: 3, MaxDelay: time.Minute, Digest: true, Drops: 5, PostedFor: 5 * time.Minute,
			Resolves: rapid.SampledFrom([]ratelimit.Resolves{"post", "reply", "edit"}).Draw(rt, "resolves"),
			Repeats:  rapid.Bool().Draw(rt, "repeats"),
		}
		if rapid.IntRange(0, 4).Draw(rt, "plain") == 0 {
			h.handling = nil
		}
		rt.Repeat(map[string]func(*rapid.T){
			"restore": h.restore, "restore more": h.restore, "admit": h.admit, "claim": h.claim, "settle": h.settle, "wait": h.wait, "": h.compare,
		})
	})
}

// restoring plays the same random steps in both engines.
type restoring struct {
	engines  []*returning
	handling *ratelimit.Handling
	claimed  *outbox.Entry
}

// alike wants the same of both engines.
func alike[T any](t *rapid.T, h *restoring, ask func(e *returning) T) T {
	first := ask(h.engines[0])
	require.Equal(t, first, ask(h.engines[1]), "memory, redis")
	return first
}

func (h *restoring) requests(t *rapid.T) (requests []ratelimit.Request) {
	l := limits{channel: perMinute(6), category: perMinute(3)}
	for range rapid.IntRange(1, 4).Draw(t, "events") {
		status := rapid.SampledFrom([]ratelimit.Status{"", "firing", "firing", "resolved", "update"}).Draw(t, "status")
		r := l.told(h.handling, fmt.Sprint(rapid.IntRange(0, 60).Draw(t, "id")), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "category"),
			status, rapid.SampledFrom([]string{"", "f1", "f2"}).Draw(t, "fingerprint"))
		requests = append(requests, r)
	}
	return requests
}

func (*restoring) past(t *rapid.T) *ratelimit.Past {
	us := func(name string) int64 { return rapid.Int64Range(1, 200).Draw(t, name) * 1e6 }
	past := &ratelimit.Past{Age: us("age")}
	switch rapid.SampledFrom([]string{"unknown", "waits", "doubt", "delivered", "delivered", "place", "place", "dead", "expired"}).Draw(t, "past") {
	case "unknown":
		return nil
	case "waits":
		past.Attempts, past.Faults = rapid.Int64Range(0, 2).Draw(t, "attempts"), rapid.Int64Range(0, 2).Draw(t, "faults")
	case "doubt":
		past.Sent, past.Tried, past.Name = us("sent"), us("tried"), "9@1234"
		past.Looked, past.Again = rapid.Int64Range(0, 1).Draw(t, "looked"), rapid.Bool().Draw(t, "again")
	case "delivered":
		past.Result = lua.Delivered
	case "place":
		past.Result, past.TS, past.Channel = lua.Delivered, "5.5", "C5"
	case "dead":
		past.Result, past.Reason, past.Keep, past.Shown = lua.Failed, "is_archived", 2, rapid.Bool().Draw(t, "shown")
	case "expired":
		past.Result = lua.Expired
	}
	return past
}

func (h *restoring) restore(t *rapid.T) {
	requests := h.requests(t)
	var pasts []*ratelimit.Past
	for i := range requests {
		pasts = append(pasts, h.past(t))
		if past := pasts[i]; past != nil && past.Result != "" && past.Result != lua.Failed && past.TS == "" {
			requests[i].Enqueue = nil
		}
	}
	again := rapid.IntRange(0, 4).Draw(t, "again") == 0
	for _, e := range h.engines {
		e.restore(t, requests, pasts...)
		if again {
			e.folds--
			e.restore(t, requests, pasts...)
		}
	}
}

func (h *restoring) admit(t *rapid.T) {
	requests := h.requests(t)
	alike(t, h, func(e *returning) []ratelimit.Outcome { return e.admit(t, slices.Clone(requests)...) })
}

func (h *restoring) claim(t *rapid.T) {
	settle := time.Duration(rapid.IntRange(0, 1).Draw(t, "settle")) * 10 * time.Second
	if claim := alike(t, h, func(e *returning) outbox.Claim { return e.claim(t, settle) }); claim.State == outbox.Claimed {
		h.claimed = &claim.Entry
	}
}

func (h *restoring) settle(t *rapid.T) {
	if h.claimed == nil {
		return
	}
	n, how := h.claimed.Number, rapid.SampledFrom([]string{"ack", "ack", "bury", "again"}).Draw(t, "how")
	shown := rapid.Bool().Draw(t, "shown")
	h.claimed = nil
	alike(t, h, func(e *returning) error {
		switch how {
		case "ack":
			return e.box.Ack(t.Context(), queue, n, outbox.Receipt{TS: fmt.Sprint(n), Channel: "C1"})
		case "bury":
			return e.box.Bury(t.Context(), queue, n, outbox.Death{Reason: "no", Shown: shown})
		default:
			return e.box.Retry(t.Context(), queue, n, outbox.Pausing{Fate: outbox.Again})
		}
	})
}

func (h *restoring) wait(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Second, 11 * time.Second, time.Minute, 6 * time.Minute}).Draw(t, "time")
	for _, e := range h.engines {
		e.advance(d)
	}
}

func (h *restoring) compare(t *rapid.T) {
	alike(t, h, func(e *returning) ratelimit.Ledger { return e.ledger(t) })
	alike(t, h, func(e *returning) []outbox.DeadLetter { return e.dead(t) })
	for n := range int64(12) {
		alike(t, h, func(e *returning) *outbox.Record { return e.record(t, n+1) })
	}
	alike(t, h, func(e *returning) []ratelimit.Usage {
		l := limits{channel: perMinute(6), category: perMinute(3)}
		usage, err := ratelimit.UsageOf(t.Context(), e.limiter, scope, l.request("", "a").Levels)
		require.NoError(t, err)
		return usage
	})
}
