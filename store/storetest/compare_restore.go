package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// restoreComparison plays the same random outages on two stores.
type restoreComparison struct {
	a, b     *outage
	handling *store.MessagePolicy
	claimed  *store.Entry
	tb       testing.TB
}

func playOutages(tb testing.TB, rt *rapid.T, a, b Fixture) {
	h := &restoreComparison{tb: tb, a: afterOutage(a), b: afterOutage(b)}
	h.handling = &store.MessagePolicy{
		Overflow:   rapid.SampledFrom([]store.OverflowPolicy{"drop", "merge", "delay"}).Draw(rt, "overflow"),
		MaxDelayed: 3, MaxDelay: time.Minute, Digest: true, KeepDrops: 5, PostedFor: 5 * time.Minute,
		Resolves: rapid.SampledFrom([]store.ResolvesPolicy{"post", "reply", "edit"}).Draw(rt, "resolves"),
		Repeats:  rapid.Bool().Draw(rt, "repeats"),
	}
	if rapid.IntRange(0, 4).Draw(rt, "plain") == 0 {
		h.handling = nil
	}
	rt.Repeat(map[string]func(*rapid.T){
		"restore": h.restore, "restore more": h.restore, "admit": h.admit, "promote": h.promote, "claim": h.claim,
		"settle": h.settle, "wait": h.wait, "": h.compare,
	})
}

// alike requires the same of both stores.
func alike[T any](t *rapid.T, h *restoreComparison, ask func(e *outage) T) T {
	first := ask(h.a)
	require.Equal(t, first, ask(h.b), "the first store, the second")
	return first
}

func (h *restoreComparison) requests(t *rapid.T) (requests []store.Request) {
	l := Limits{Channel: PerMinute(6), Category: PerMinute(3)}
	for range rapid.IntRange(1, 4).Draw(t, "events") {
		status := rapid.SampledFrom([]store.Status{"", "firing", "firing", "resolved", "update"}).Draw(t, "status")
		id, category := fmt.Sprint(rapid.IntRange(0, 60).Draw(t, "id")), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "category")
		fingerprint := rapid.SampledFrom([]string{"", "f1", "f2"}).Draw(t, "fingerprint")
		r := l.AlertRequest(h.handling, id, category, status, fingerprint)
		if rapid.IntRange(0, 9).Draw(t, "large") == 0 {
			r.Enqueue.Payload = []byte(`{"id":"` + r.ID + `","text":"` + strings.Repeat("x", LargeEvent) + `"}`)
		}
		requests = append(requests, r)
	}
	return requests
}

func (*restoreComparison) past(t *rapid.T) *store.OutageResult {
	us := func(name string) int64 { return rapid.Int64Range(1, 200).Draw(t, name) * 1e6 }
	past := &store.OutageResult{Age: us("age")}
	switch rapid.SampledFrom([]string{"unknown", "waits", "doubt", "delivered", "delivered", "place", "place", "dead", "expired"}).Draw(t,
		"past") {
	case "unknown":
		return nil
	case "waits":
		past.Attempts, past.Faults = rapid.Int64Range(0, 2).Draw(t, "attempts"), rapid.Int64Range(0, 2).Draw(t, "faults")
	case "doubt":
		past.FirstAttempt, past.LastAttempt, past.Name = us("sent"), us("tried"), "9@1234"
		past.Lookups, past.SendAgain = rapid.Int64Range(0, 1).Draw(t, "looked"), rapid.Bool().Draw(t, "again")
	case "delivered":
		past.Result = store.Delivered
	case "place":
		past.Result, past.TS, past.Channel = store.Delivered, "5.5", "C5"
	case "dead":
		past.Result, past.Reason, past.KeepDeadLetters, past.MaybePosted = store.Failed, "is_archived", 2, rapid.Bool().Draw(t, "shown")
	case "expired":
		past.Result = store.Expired
	}
	return past
}

func (h *restoreComparison) restore(t *rapid.T) {
	requests := h.requests(t)
	var pasts []*store.OutageResult
	for i := range requests {
		pasts = append(pasts, h.past(t))
		if past := pasts[i]; past != nil && past.Result != "" && past.Result != store.Failed && past.TS == "" {
			requests[i].Enqueue = nil
		}
	}
	again := rapid.IntRange(0, 4).Draw(t, "again") == 0
	for _, e := range []*outage{h.a, h.b} {
		e.restore(t, requests, pasts...)
		if again {
			e.again(t, requests, pasts...)
		}
	}
}

func (h *restoreComparison) admit(t *rapid.T) {
	requests := h.requests(t)
	bundle, mode := rapid.SampledFrom([]string{"", "1", "@", "#"}).Draw(t, "bundle"), drawMode(t)
	for i := range requests {
		if h.handling != nil {
			requests[i].Event.Bundle = bundle
		}
	}
	alike(t, h, func(e *outage) []store.Outcome { return e.decide(t, mode, slices.Clone(requests)...) })
}

// promote asks again for all delayed messages.
func (h *restoreComparison) promote(t *rapid.T) {
	waiting := alike(t, h, func(e *outage) []store.DelayedMessage {
		all, err := e.C.Delayed(t.Context(), Scope)
		require.NoError(t, err)
		return append([]store.DelayedMessage{}, all...)
	})
	var requests []store.Request
	for _, one := range waiting {
		var first struct{ ID string }
		line, _, _ := bytes.Cut(one.Payload, []byte("\n"))
		require.NoError(t, json.Unmarshal(line, &first))
		for _, category := range []string{"a", "b"} { // of another category, it is not found
			r := Limits{Channel: PerMinute(6), Category: PerMinute(3)}.AlertRequest(h.handling, first.ID, category, "", "")
			r.Delayed, r.Enqueue.Payload = one.Number, one.Payload
			requests = append(requests, r)
		}
	}
	if len(requests) > 0 {
		alike(t, h, func(e *outage) []store.Outcome { return e.decide(t, store.ModePromote, slices.Clone(requests)...) })
	}
}

func (h *restoreComparison) claim(t *rapid.T) {
	settle := time.Duration(rapid.IntRange(0, 1).Draw(t, "settle")) * 10 * time.Second
	if claim := alike(t, h, func(e *outage) store.Claim { return e.claim(t, settle) }); claim.State == store.Claimed {
		h.claimed = &claim.Entry
	}
}

func (h *restoreComparison) settle(t *rapid.T) {
	if h.claimed == nil {
		return
	}
	entry, how := *h.claimed, rapid.SampledFrom([]string{"ack", "ack", "bury", "again"}).Draw(t, "how")
	shown := rapid.Bool().Draw(t, "shown")
	h.claimed = nil
	alike(t, h, func(e *outage) error {
		switch how {
		case "ack":
			return e.C.Ack(t.Context(), Scope, entry, store.Receipt{TS: fmt.Sprint(entry.Number), Channel: "C1"})
		case "bury":
			return e.C.Bury(t.Context(), Scope, entry, store.DeadReason{Reason: "no", MaybePosted: shown})
		default:
			return e.C.Retry(t.Context(), Scope, entry, store.RetryPlan{State: store.SendAgain})
		}
	})
}

func (h *restoreComparison) wait(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Second, 11 * time.Second, time.Minute, 6 * time.Minute}).Draw(t, "time")
	for _, e := range []*outage{h.a, h.b} {
		e.Advance(d)
	}
}

func (h *restoreComparison) compare(t *rapid.T) {
	alike(t, h, func(e *outage) map[string]int64 { return e.DueIndex(h.tb) })
	alike(t, h, func(e *outage) store.Ledger { return e.ledger(t) })
	alike(t, h, func(e *outage) []store.DeadLetter { return e.dead(t) })
	for n := range int64(12) {
		alike(t, h, func(e *outage) *store.PostedMessage { return e.posted(t, n+1) })
	}
	alike(t, h, func(e *outage) []ratelimit.Usage {
		l := Limits{Channel: PerMinute(6), Category: PerMinute(3)}
		usage, err := store.UsageOf(t.Context(), e.Limiter, Scope, l.Request("", "a").Levels)
		require.NoError(t, err)
		return usage
	})
}
