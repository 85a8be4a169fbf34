package storetest_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

var narrow = storetest.Limits{Channel: storetest.PerMinute(4), Category: storetest.PerMinute(2)}

func TestResolves(t *testing.T) {
	t.Parallel()
	for _, resolves := range []store.ResolvesPolicy{"post", "reply", "edit"} {
		t.Run(string(resolves), func(t *testing.T) {
			t.Parallel()
			storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
				h := &store.MessagePolicy{Overflow: "drop", Resolves: resolves, KeepDrops: 10}
				require.Equal(t, []store.Outcome{storetest.Admitted, storetest.Admitted, storetest.Suppressed}, storetest.OutcomesOf(b.MustAdmit(t,
					narrow.Told(h, "1", "c", store.Firing, "f"),
					narrow.Told(h, "2", "c", store.Resolved, "f"), // takes its place
					narrow.Told(h, "3", "c", store.Resolved, "f"), // nothing is left that it resolves
				)))
				report := b.MustReport(t)
				require.Equal(t, store.Ledger{Received: 3, Admitted: 2, Superseded: 1, Dropped: 1, Pending: 1}, report.Ledger)
				require.Equal(t, int64(1), b.Usage(t, narrow.Request("x", "c")), "for its slot")
				require.Equal(t, storetest.Suppressed, b.AdmitOne(t, narrow.Told(h, "4", "c", store.Resolved, "never heard of")).Outcome)
				require.Equal(t, storetest.Admitted, b.AdmitOne(t, narrow.Told(h, "5", "c", store.Resolved, "")).Outcome, "without a fingerprint nobody can know")
				drops, err := b.Drops(t.Context(), storetest.Scope, "", 10)
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
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 10}
		require.Equal(t, []store.Outcome{storetest.Admitted, storetest.Merged, storetest.Suppressed}, storetest.OutcomesOf(b.MustAdmit(t,
			narrow.Told(h, "1", "c", "", "f"),
			narrow.Told(h, "2", "c", store.Update, "f"),
			narrow.Told(h, "3", "c", store.Update, "never heard of"),
		)))
		require.Equal(t, store.Ledger{Received: 3, Admitted: 1, Merged: 1, Dropped: 1, Pending: 1}, b.MustReport(t).Ledger)
		require.Equal(t, storetest.Merged, b.AdmitOne(t, narrow.Told(h, "4", "c", store.Update, "f")).Outcome)
		require.Equal(t, int64(1), b.Usage(t, narrow.Request("x", "c")), "for no slot")
	})
}

func TestAnswersSpendSlots(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "post"}
		answer := narrow.Told(h, "2", "c", "", "g")
		answer.Event.ReplyTo = "f"
		lost := narrow.Told(h, "3", "c", "", "h")
		lost.Event.ReplyTo = "never heard of"
		require.Equal(t, []store.Outcome{storetest.Admitted, storetest.Admitted, storetest.Dropped}, storetest.OutcomesOf(b.MustAdmit(t, narrow.Told(h, "1", "c", "", "f"), answer, lost)))
		require.Equal(t, storetest.Merged, b.AdmitOne(t, narrow.Told(h, "4", "c", store.Update, "g")).Outcome, "an answer can be updated too")
	})
}

func TestMute(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		require.NoError(t, b.CountMuted(t.Context(), storetest.Scope, 3))
		require.Equal(t, storetest.Admitted, b.AdmitOne(t, narrow.Request("1", "c")).Outcome)
		ledger := b.MustReport(t).Ledger
		require.Equal(t, store.Ledger{Received: 4, Admitted: 1, Muted: 3, Pending: 1}, ledger)
		require.Zero(t, ledger.Imbalance())
	})
}

func TestARefusedBundleDropsThemAll(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "post"}
		group := func(name string, n int) (requests []store.Request) {
			for i := range n {
				r := narrow.Told(h, fmt.Sprint(name, i), "c", store.Firing, fmt.Sprint(name, i))
				r.Event.Bundle = name
				requests = append(requests, r)
			}
			return requests
		}
		require.Equal(t, append([]store.Outcome{storetest.Admitted}, fill(storetest.Merged, 36)...), storetest.OutcomesOf(b.MustAdmit(t, group("a", 37)...)))
		require.Equal(t, append(fill(store.Duplicate, 37), storetest.Admitted), storetest.OutcomesOf(b.MustAdmit(t, group("a", 38)...)), "what is new is a message of its own")
		require.Equal(t, fill(storetest.Dropped, 3), storetest.OutcomesOf(b.MustAdmit(t, group("b", 3)...)))
		require.Equal(t, store.Ledger{Received: 78, Admitted: 2, Merged: 36, Duplicate: 37, Dropped: 3, Pending: 2}, b.MustReport(t).Ledger)
	})
}

func fill(o store.Outcome, n int) []store.Outcome {
	all := make([]store.Outcome, n)
	for i := range all {
		all[i] = o
	}
	return all
}

func TestDelayIsBoundedInNumberAndAge(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 2, MaxDelay: 90 * time.Second, Resolves: "post"}
		request := func(id, category string) store.Request { return narrow.Told(h, id, category, "", "") }
		require.Equal(t, []store.Outcome{storetest.Admitted, storetest.Admitted, storetest.Delayed, storetest.Delayed, storetest.Full}, storetest.OutcomesOf(b.MustAdmit(t,
			request("1", "c"), request("2", "c"), request("3", "c"), request("4", "other"), request("5", "c"))),
			"what comes later waits behind what waits")
		require.Equal(t, store.Ledger{Received: 5, Admitted: 2, Delayed: 2, Dropped: 1, Pending: 2}, b.MustReport(t).Ledger)
		again := func(id, category string, number int64) store.Outcome {
			r := request(id, category)
			r.Delayed = number
			return b.AdmitOne(t, r).Outcome
		}
		require.Equal(t, storetest.Delayed, again("3", "c", 3))
		require.Equal(t, storetest.Admitted, again("4", "other", 4))
		require.Equal(t, store.Duplicate, again("4", "other", 4), "another replica was first")
		b.Advance(30 * time.Second)
		b.MustAdmit(t, request("6", "c"), request("7", "c"))
		b.Advance(31 * time.Second)
		require.Equal(t, storetest.Admitted, again("3", "c", 3))
		b.AdmitOne(t, request("8", "c"))
		b.Advance(91 * time.Second)
		b.MustAdmit(t, request("9", "c"), request("10", "c"))
		require.Zero(t, b.MustReport(t).Ledger.Imbalance())
	})
}

func TestWhatIsDelayedTooLongIsDropped(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 5, MaxDelay: 10 * time.Second, Resolves: "post", KeepDrops: 5}
		closed := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
		r := closed.Told(h, "1", "c", "", "")
		b.AdmitOne(t, r)
		r = closed.Told(h, "2", "c", "", "")
		require.Equal(t, storetest.Delayed, b.AdmitOne(t, r).Outcome)
		r.Delayed = 2
		b.Advance(9 * time.Second)
		require.Equal(t, storetest.Delayed, b.AdmitOne(t, r).Outcome)
		b.Advance(2 * time.Second)
		require.Equal(t, storetest.Full, b.AdmitOne(t, r).Outcome)
		require.Equal(t, store.Ledger{Received: 2, Admitted: 1, Dropped: 1, Pending: 1}, b.MustReport(t).Ledger)
		drops, err := b.Drops(t.Context(), storetest.Scope, "", 5)
		require.NoError(t, err)
		require.Len(t, drops, 1)
		require.Equal(t, "full", drops[0].Level)
	})
}

func TestMergeNeedsAMessageToCountOn(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		h := &store.MessagePolicy{Overflow: "merge", Resolves: "post"}
		request := func(id, category string) store.Request { return narrow.Told(h, id, category, "", "") }
		require.Equal(t, []store.Outcome{storetest.Admitted, storetest.Admitted, storetest.Merged, storetest.Admitted, storetest.Admitted, storetest.Merged, storetest.Dropped}, storetest.OutcomesOf(b.MustAdmit(t,
			request("1", "a"), request("2", "a"), request("3", "a"), request("4", "b"), request("5", "b"), request("6", "b"), request("7", "new"))),
			"the channel is full for what has no message")
	})
}

// A storm that this process refuses by itself is recorded in part, and counted in whole.
func TestTheRecordOfAStorm(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	limiter := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{})
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true, KeepDrops: 10_000}
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	request := func(id, category string) store.Request {
		r := l.Told(h, id, category, "", "")
		payload := r.Enqueue
		r.Enqueue, r.ID = nil, ""
		r.Complete = func(r *store.Request) error {
			r.ID, r.Enqueue = id, payload
			return nil
		}
		return r
	}
	_, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{request("1", "a"), request("2", "a")})
	require.NoError(t, err)
	for i := range 3000 {
		decisions, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{request(fmt.Sprint("storm", i), fmt.Sprint("c", i%30))})
		require.NoError(t, err)
		require.Equal(t, storetest.Dropped, decisions[0].Outcome)
	}
	require.NoError(t, limiter.Flush(t.Context()))
	drops, err := limiter.Drops(t.Context(), storetest.Scope, "", 10_000)
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
	limiter := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{})
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	decide := func(r store.Request) store.Decision {
		decisions, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{r})
		require.NoError(t, err)
		return decisions[0]
	}
	require.Equal(t, storetest.Admitted, decide(l.Told(h, "1", "c", store.Firing, "f")).Outcome)
	require.Equal(t, storetest.Dropped, decide(l.Told(h, "2", "c", "", "")).Outcome)
	require.Equal(t, store.ByClosedCache, decide(l.Told(h, "3", "c", "", "")).DecidedBy)
	require.Equal(t, storetest.Merged, decide(l.Told(h, "4", "c", store.Firing, "f")).Outcome)
	require.Equal(t, storetest.Admitted, decide(l.Told(h, "5", "c", store.Resolved, "f")).Outcome, "it takes the place of the one that waits")
}

func TestRequestsWhoseHandlingMakesNoSense(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		good := store.MessagePolicy{Overflow: "drop", Resolves: "post"}
		for says, change := range map[string]func(r *store.Request){
			`overflow "burn" is unknown`:                    func(r *store.Request) { r.Policy.Overflow = "burn" },
			`resolves "shout" is unknown`:                   func(r *store.Request) { r.Policy.Resolves = "shout" },
			"overflow delay needs a number and a time":      func(r *store.Request) { r.Policy.Overflow = "delay" },
			"fingerprint has 65 bytes, want at most 64":     func(r *store.Request) { r.Event.Fingerprint = fmt.Sprintf("%065d", 0) },
			"asks again for a delayed event needs a policy": func(r *store.Request) { r.Policy, r.Delayed = nil, 1 },
		} {
			h := good
			r := narrow.Told(&h, "1", "c", "", "")
			change(&r)
			_, err := b.Admit(t.Context(), storetest.Scope, []store.Request{r})
			require.ErrorIs(t, err, store.ErrRequest)
			require.ErrorContains(t, err, says)
		}
		h, other := good, good
		_, err := b.Admit(t.Context(), storetest.Scope, []store.Request{narrow.Told(&h, "1", "c", "", ""), narrow.Told(&other, "2", "c", "", "")})
		require.ErrorContains(t, err, "request 1: policy differs")
		require.Zero(t, b.MustReport(t).Ledger.Received)
	})
}
