package ratelimit_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

// told is a request that is handled, of an alert with a fingerprint.
func (l limits) told(h *ratelimit.Handling, id, category string, status ratelimit.Status, fingerprint string) ratelimit.Request {
	r := l.request(id, category)
	r.Handling = h
	r.Event = ratelimit.Event{Status: status, Fingerprint: fingerprint, Severity: "error", Title: "title " + id}
	return r
}

var narrow = limits{channel: perMinute(4), category: perMinute(2)}

func outcomesOf(decisions []ratelimit.Decision) []ratelimit.Outcome {
	all := make([]ratelimit.Outcome, len(decisions))
	for i, d := range decisions {
		all[i] = d.Outcome
	}
	return all
}

const (
	admitted   = ratelimit.Admitted
	dropped    = ratelimit.Dropped
	merged     = ratelimit.Merged
	delayed    = ratelimit.Delayed
	suppressed = ratelimit.Suppressed
	full       = ratelimit.Full
)

func TestResolves(t *testing.T) {
	t.Parallel()
	for _, resolves := range []ratelimit.Resolves{"post", "reply", "edit"} {
		t.Run(string(resolves), func(t *testing.T) {
			t.Parallel()
			onEvery(t, func(t *testing.T, b bundle) {
				h := &ratelimit.Handling{Overflow: "drop", Resolves: resolves, Drops: 10}
				require.Equal(t, []ratelimit.Outcome{admitted, admitted, suppressed}, outcomesOf(b.admit(t,
					narrow.told(h, "1", "c", ratelimit.Firing, "f"),
					narrow.told(h, "2", "c", ratelimit.Resolved, "f"), // takes its place
					narrow.told(h, "3", "c", ratelimit.Resolved, "f"), // nothing is left that it resolves
				)))
				report := b.report(t)
				require.Equal(t, ratelimit.Ledger{Received: 3, Admitted: 2, Superseded: 1, Dropped: 1, Pending: 1}, report.Ledger)
				require.Equal(t, int64(1), b.usage(t, narrow.request("x", "c")), "for its slot")
				require.Equal(t, suppressed, b.one(t, narrow.told(h, "4", "c", ratelimit.Resolved, "never heard of")).Outcome)
				require.Equal(t, admitted, b.one(t, narrow.told(h, "5", "c", ratelimit.Resolved, "")).Outcome, "without a fingerprint nobody can know")
				drops, err := b.Drops(t.Context(), scope, "", 10)
				require.NoError(t, err)
				require.Len(t, drops, 2)
				require.Equal(t, []any{"suppressed", int64(-1), `{"id":"4"}`}, []any{drops[0].Level, drops[0].Used, string(drops[0].Payload)})
			})
		})
	}
}

// An update takes the place of what a message says: where it waits, else by an edit.
func TestUpdates(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "drop", Resolves: "post", Drops: 10}
		require.Equal(t, []ratelimit.Outcome{admitted, merged, suppressed}, outcomesOf(b.admit(t,
			narrow.told(h, "1", "c", "", "f"),
			narrow.told(h, "2", "c", ratelimit.Update, "f"),
			narrow.told(h, "3", "c", ratelimit.Update, "never heard of"),
		)))
		require.Equal(t, ratelimit.Ledger{Received: 3, Admitted: 1, Merged: 1, Dropped: 1, Pending: 1}, b.report(t).Ledger)
		require.Equal(t, merged, b.one(t, narrow.told(h, "4", "c", ratelimit.Update, "f")).Outcome)
		require.Equal(t, int64(1), b.usage(t, narrow.request("x", "c")), "for no slot")
	})
}

func TestAnswersSpendSlots(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "drop", Resolves: "post"}
		answer := narrow.told(h, "2", "c", "", "g")
		answer.Event.Answers = "f"
		lost := narrow.told(h, "3", "c", "", "h")
		lost.Event.Answers = "never heard of"
		require.Equal(t, []ratelimit.Outcome{admitted, admitted, dropped}, outcomesOf(b.admit(t, narrow.told(h, "1", "c", "", "f"), answer, lost)))
		require.Equal(t, merged, b.one(t, narrow.told(h, "4", "c", ratelimit.Update, "g")).Outcome, "an answer can be updated too")
	})
}

func TestMute(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		require.NoError(t, b.Mute(t.Context(), scope, 3))
		require.Equal(t, admitted, b.one(t, narrow.request("1", "c")).Outcome)
		ledger := b.report(t).Ledger
		require.Equal(t, ratelimit.Ledger{Received: 4, Admitted: 1, Muted: 3, Pending: 1}, ledger)
		require.Zero(t, ledger.Imbalance())
	})
}

// usage is how many units of the channel are used.
func (b bundle) usage(t *testing.T, r ratelimit.Request) int64 {
	t.Helper()
	usage, err := ratelimit.UsageOf(t.Context(), b, scope, r.Levels[:1])
	require.NoError(t, err)
	return usage[0].Used
}

func TestARefusedBundleDropsThemAll(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "drop", Resolves: "post"}
		group := func(name string, n int) (requests []ratelimit.Request) {
			for i := range n {
				r := narrow.told(h, fmt.Sprint(name, i), "c", ratelimit.Firing, fmt.Sprint(name, i))
				r.Event.Bundle = name
				requests = append(requests, r)
			}
			return requests
		}
		require.Equal(t, append([]ratelimit.Outcome{admitted}, fill(merged, 36)...), outcomesOf(b.admit(t, group("a", 37)...)))
		require.Equal(t, append(fill(ratelimit.Duplicate, 37), admitted), outcomesOf(b.admit(t, group("a", 38)...)), "what is new is a message of its own")
		require.Equal(t, fill(dropped, 3), outcomesOf(b.admit(t, group("b", 3)...)))
		require.Equal(t, ratelimit.Ledger{Received: 78, Admitted: 2, Merged: 36, Duplicate: 37, Dropped: 3, Pending: 2}, b.report(t).Ledger)
	})
}

func fill(o ratelimit.Outcome, n int) []ratelimit.Outcome {
	all := make([]ratelimit.Outcome, n)
	for i := range all {
		all[i] = o
	}
	return all
}

func TestDelayIsBoundedInNumberAndAge(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "delay", MaxDelayed: 2, MaxDelay: 90 * time.Second, Resolves: "post"}
		request := func(id, category string) ratelimit.Request { return narrow.told(h, id, category, "", "") }
		require.Equal(t, []ratelimit.Outcome{admitted, admitted, delayed, delayed, full}, outcomesOf(b.admit(t,
			request("1", "c"), request("2", "c"), request("3", "c"), request("4", "other"), request("5", "c"))),
			"what comes later waits behind what waits")
		require.Equal(t, ratelimit.Ledger{Received: 5, Admitted: 2, Delayed: 2, Dropped: 1, Pending: 2}, b.report(t).Ledger)
		again := func(id, category string, number int64) ratelimit.Outcome {
			r := request(id, category)
			r.Delayed = number
			return b.one(t, r).Outcome
		}
		require.Equal(t, delayed, again("3", "c", 3))
		require.Equal(t, admitted, again("4", "other", 4))
		require.Equal(t, ratelimit.Duplicate, again("4", "other", 4), "another replica was first")
		b.advance(30 * time.Second)
		b.admit(t, request("6", "c"), request("7", "c"))
		b.advance(31 * time.Second)
		require.Equal(t, admitted, again("3", "c", 3))
		b.one(t, request("8", "c"))
		b.advance(91 * time.Second)
		b.admit(t, request("9", "c"), request("10", "c"))
		require.Zero(t, b.report(t).Ledger.Imbalance())
	})
}

func TestWhatIsDelayedTooLongIsDropped(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "delay", MaxDelayed: 5, MaxDelay: 10 * time.Second, Resolves: "post", Drops: 5}
		closed := limits{channel: perMinute(1), category: perMinute(1)}
		r := closed.told(h, "1", "c", "", "")
		b.one(t, r)
		r = closed.told(h, "2", "c", "", "")
		require.Equal(t, delayed, b.one(t, r).Outcome)
		r.Delayed = 2
		b.advance(9 * time.Second)
		require.Equal(t, delayed, b.one(t, r).Outcome)
		b.advance(2 * time.Second)
		require.Equal(t, full, b.one(t, r).Outcome)
		require.Equal(t, ratelimit.Ledger{Received: 2, Admitted: 1, Dropped: 1, Pending: 1}, b.report(t).Ledger)
		drops, err := b.Drops(t.Context(), scope, "", 5)
		require.NoError(t, err)
		require.Len(t, drops, 1)
		require.Equal(t, "full", drops[0].Level)
	})
}

func TestMergeNeedsAMessageToCountOn(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &ratelimit.Handling{Overflow: "merge", Resolves: "post"}
		request := func(id, category string) ratelimit.Request { return narrow.told(h, id, category, "", "") }
		require.Equal(t, []ratelimit.Outcome{admitted, admitted, merged, admitted, admitted, merged, dropped}, outcomesOf(b.admit(t,
			request("1", "a"), request("2", "a"), request("3", "a"), request("4", "b"), request("5", "b"), request("6", "b"), request("7", "new"))),
			"the channel is full for what has no message")
	})
}

// A storm that this process refuses by itself is recorded in part, and counted in whole.
func TestTheRecordOfAStorm(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	limiter := share(t, ratelimit.NewRedis(client, ratelimit.RedisOptions{}), ratelimit.SharedOptions{})
	h := &ratelimit.Handling{Overflow: "drop", Resolves: "post", Digest: true, Drops: 10_000}
	l := limits{channel: perMinute(1), category: perMinute(1)}
	request := func(id, category string) ratelimit.Request {
		r := l.told(h, id, category, "", "")
		payload := r.Enqueue
		r.Enqueue, r.ID = nil, ""
		r.Complete = func(r *ratelimit.Request) error {
			r.ID, r.Enqueue = id, payload
			return nil
		}
		return r
	}
	_, err := limiter.Admit(t.Context(), scope, []ratelimit.Request{request("1", "a"), request("2", "a")})
	require.NoError(t, err)
	for i := range 3000 {
		decisions, err := limiter.Admit(t.Context(), scope, []ratelimit.Request{request(fmt.Sprint("storm", i), fmt.Sprint("c", i%30))})
		require.NoError(t, err)
		require.Equal(t, dropped, decisions[0].Outcome)
	}
	require.NoError(t, limiter.Flush(t.Context()))
	drops, err := limiter.Drops(t.Context(), scope, "", 10_000)
	require.NoError(t, err)
	require.Less(t, len(drops), 3001)
	seen := map[string]bool{}
	for _, d := range drops {
		seen[d.Category] = true
		var payload struct{ ID string }
		require.NoError(t, json.Unmarshal(d.Payload, &payload))
		require.NotEmpty(t, payload.ID)
		require.Equal(t, []any{"channel", int64(1), int64(1)}, []any{d.Level, d.Used, d.Limit})
	}
	require.Len(t, seen, 31, "the first of each category")
	require.Contains(t, string(drops[0].Payload), "storm2999", "and the newest")
	digest := client.HGetAll(t.Context(), "relay:{alerts}:digest:alerts").Val()
	require.Equal(t, "3001", digest["noted"])
	require.Equal(t, "100", digest["d:c7:error"])
	for _, key := range []string{"drops", "digest"} {
		require.Positive(t, client.PTTL(t.Context(), "relay:{alerts}:"+key+":alerts").Val(), key)
	}
}

// What the cache knows to be closed is asked all the same where it may spend no slot.
func TestTheCacheDoesNotDecideWhatIsFolded(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	limiter := share(t, ratelimit.NewRedis(client, ratelimit.RedisOptions{}), ratelimit.SharedOptions{})
	h := &ratelimit.Handling{Overflow: "drop", Resolves: "edit", Repeats: true}
	l := limits{channel: perMinute(1), category: perMinute(1)}
	decide := func(r ratelimit.Request) ratelimit.Decision {
		decisions, err := limiter.Admit(t.Context(), scope, []ratelimit.Request{r})
		require.NoError(t, err)
		return decisions[0]
	}
	require.Equal(t, admitted, decide(l.told(h, "1", "c", ratelimit.Firing, "f")).Outcome)
	require.Equal(t, dropped, decide(l.told(h, "2", "c", "", "")).Outcome)
	require.Equal(t, ratelimit.ByClosedCache, decide(l.told(h, "3", "c", "", "")).DecidedBy)
	require.Equal(t, merged, decide(l.told(h, "4", "c", ratelimit.Firing, "f")).Outcome)
	require.Equal(t, admitted, decide(l.told(h, "5", "c", ratelimit.Resolved, "f")).Outcome, "it takes the place of the one that waits")
}

func TestRequestsWhoseHandlingMakesNoSense(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		good := ratelimit.Handling{Overflow: "drop", Resolves: "post"}
		for says, change := range map[string]func(r *ratelimit.Request){
			`overflow "burn" is unknown`:                 func(r *ratelimit.Request) { r.Handling.Overflow = "burn" },
			`resolves "shout" is unknown`:                func(r *ratelimit.Request) { r.Handling.Resolves = "shout" },
			"overflow delay needs a number and a time":   func(r *ratelimit.Request) { r.Handling.Overflow = "delay" },
			"fingerprint has 65 bytes, want at most 64":  func(r *ratelimit.Request) { r.Event.Fingerprint = fmt.Sprintf("%065d", 0) },
			"it asks again for what is delayed, without": func(r *ratelimit.Request) { r.Handling, r.Delayed = nil, 1 },
		} {
			h := good
			r := narrow.told(&h, "1", "c", "", "")
			change(&r)
			_, err := b.Admit(t.Context(), scope, []ratelimit.Request{r})
			require.ErrorIs(t, err, ratelimit.ErrRequest)
			require.ErrorContains(t, err, says)
		}
		h, other := good, good
		_, err := b.Admit(t.Context(), scope, []ratelimit.Request{narrow.told(&h, "1", "c", "", ""), narrow.told(&other, "2", "c", "", "")})
		require.ErrorContains(t, err, "request 1: handling differs")
		require.Zero(t, b.report(t).Ledger.Received)
	})
}
