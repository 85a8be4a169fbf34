package storetest

import (
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

// comparison plays the same random steps on two stores; all that can be read of them must be the same.
type comparison struct {
	tb       testing.TB
	t        *rapid.T
	a, b     Fixture
	handling *store.MessagePolicy
	terms    store.Terms
	claimed  map[int]store.Entry // by sender
	leased   [2]time.Time        // until when each sender may have a lease
	bundles  int
	sent     map[entryName]bool // what was handed out to be sent, and has not been reported as not posted since
}

// entryName identifies an entry: a number alone may be used again.
type entryName struct{ number, admittedAt int64 }

func nameOf(e store.Entry) entryName { return entryName{e.Number, e.AdmittedAt} }

// Compare plays the same random histories on two stores, and compares what they return and all that can be read of them
// after each step: the life of messages, what replicas admitted while the store was away, limits, limits whose clock goes back
// or whose windows change, and documents. -rapid.checks is how many histories there are.
func Compare(t *testing.T, a, b Start) {
	t.Helper()
	for name, play := range map[string]func(tb testing.TB, rt *rapid.T, a, b Fixture){
		"messages": playMessages, "outages": playOutages, "limits": playLimits, "clock": playClock,
		"problems": playProblems,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := a(t), b(t)
			fewTimes(t, func(rt *rapid.T, _ int) { play(t, rt, first.Fresh(), second.Fresh()) })
			rapid.Check(t, func(rt *rapid.T) { play(t, rt, first.Fresh(), second.Fresh()) })
		})
	}
}

func playMessages(tb testing.TB, rt *rapid.T, a, b Fixture) {
	tb.Helper()
	h := &comparison{tb: tb, t: rt, a: a, b: b, claimed: map[int]store.Entry{}, sent: map[entryName]bool{}}
	h.draw()
	rt.Repeat(map[string]func(*rapid.T){
		"admit": h.admit, "admit more": h.admit, "promote": h.promote, "claim": h.claim, "claim again": h.claim,
		"settle": h.settle, "settle again": h.settle, "ack and claim": h.ackClaim,
		"digest": h.digest, "append": h.appendNotice, "mark": h.mark, "wait": h.wait, "budget": h.budget,
		"delete": h.deleteDead, "go back": h.goBack,
		"": h.compare,
	})
}

// draw draws the configuration of the channel.
func (h *comparison) draw() {
	h.handling = &store.MessagePolicy{
		Overflow:   rapid.SampledFrom([]store.OverflowPolicy{"drop", "delay", "merge"}).Draw(h.t, "overflow"),
		MaxDelayed: 3, MaxDelay: 90 * time.Second,
		Resolves: rapid.SampledFrom([]store.ResolvesPolicy{"post", "reply", "edit"}).Draw(h.t, "resolves"),
		Repeats:  rapid.Bool().Draw(h.t, "repeats"), Digest: rapid.IntRange(0, 4).Draw(h.t, "digest") > 0,
		KeepDrops: rapid.SampledFrom([]int64{5, 5, 1, 0}).Draw(h.t, "kept drops"), PostedFor: 5 * time.Minute,
	}
	h.terms = store.Terms{
		Pace: store.Pace{
			Every: time.Duration(rapid.IntRange(0, 2).Draw(h.t, "pace")) * time.Second,
			Burst: rapid.Int64Range(1, 3).Draw(h.t, "burst"),
		},
		TTL:         rapid.SampledFrom([]time.Duration{2 * time.Minute, 2 * time.Minute, time.Minute, 0}).Draw(h.t, "ttl"),
		LookupDelay: time.Duration(rapid.IntRange(0, 1).Draw(h.t, "settle")) * 5 * time.Second,
		Digest: store.DigestTerms{
			Interval: time.Minute, EditEvery: time.Duration(rapid.IntRange(0, 1).Draw(h.t, "live")) * 15 * time.Second,
			Minimum: int64(rapid.IntRange(1, 3).Draw(h.t, "minimum")),
		},
	}
}

// same requires the same reply of both stores.
func same[T any](h *comparison, what string, ask func(w Fixture) (T, error)) T {
	first, firstErr := ask(h.a)
	second, secondErr := ask(h.b)
	require.Equal(h.t, firstErr == nil, secondErr == nil, "%s: the first store %v, the second %v", what, firstErr, secondErr)
	require.Equal(h.t, first, second, what)
	return second
}

func (h *comparison) request(category string) store.Request {
	return store.Request{
		Request: ratelimit.Request{
			Category: category,
			Levels: []ratelimit.Level{
				ChannelLevel("alerts", ratelimit.Window{Limit: 4, Per: time.Minute}),
				Level(Scope, "category", category, ratelimit.Window{Limit: 2, Per: time.Minute}),
			},
		},
		Policy: h.handling,
	}
}

func (h *comparison) admit(t *rapid.T) {
	h.t = t
	h.bundles++
	bundle := rapid.SampledFrom([]string{"", fmt.Sprint(h.bundles), "@", "#1", "#2"}).Draw(t, "bundle") // later calls add to @ and #
	names, most := []string{"", "f1", "f2", "f3"}, 4
	if rapid.IntRange(0, 3).Draw(t, "many") == 0 {
		names, most = []string{"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15", "f16", ""}, 20
	}
	mode := drawMode(t)
	var requests []store.Request
	for range rapid.IntRange(1, most).Draw(t, "events") {
		id := fmt.Sprint(rapid.IntRange(0, 200).Draw(t, "id"))
		r := h.request(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "category"))
		r.ID = id
		r.Enqueue = &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)}
		r.Event = store.Event{
			Status:      rapid.SampledFrom([]store.Status{"", "firing", "firing", "firing", "resolved", "resolved", "update"}).Draw(t, "status"),
			Fingerprint: rapid.SampledFrom(names).Draw(t, "fingerprint"),
			Severity:    rapid.SampledFrom([]string{"error", ""}).Draw(t, "severity"), Title: "title " + id,
		}
		if bundle == "" && rapid.IntRange(0, 5).Draw(t, "reply") == 0 {
			r.Event.ReplyTo = rapid.SampledFrom(names).Draw(t, "reply to")
		}
		r.Event.Bundle = bundle
		requests = append(requests, r)
	}
	h.decide(mode, requests)
}

// drawMode returns admit, and now and then force.
func drawMode(t *rapid.T) store.Mode {
	if rapid.IntRange(0, 9).Draw(t, "forced") == 0 {
		return store.ModeForce
	}
	return store.ModeAdmit
}

// decided is the part of a decision that is compared.
type decided struct {
	outcome store.Outcome
	level   string
	window  ratelimit.Window
	refused string
	retry   time.Duration
}

func (h *comparison) decide(mode store.Mode, requests []store.Request) {
	same(h, string(mode), func(w Fixture) ([]decided, error) {
		answer, err := w.method(mode)(h.t.Context(), Scope, slices.Clone(requests))
		all := make([]decided, len(answer.Decisions))
		for i, d := range answer.Decisions {
			all[i] = decided{d.Outcome, d.Level, d.Window, strings.Join(d.Refused, " "), d.RetryAfter}
			if d.Outcome != store.Dropped {
				all[i].level, all[i].window, all[i].refused = "", ratelimit.Window{}, "" // an event that is attached asks no level
			}
		}
		return all, err
	})
}

func (h *comparison) promote(t *rapid.T) {
	h.t = t
	waiting := same(h, "delayed", func(w Fixture) ([]store.DelayedMessage, error) {
		all, err := w.A.Delayed(t.Context(), Scope)
		return append([]store.DelayedMessage{}, all...), err
	})
	dueAt := time.UnixMicro(h.b.dueAt(h.tb, store.WorkPromote))
	require.True(t, len(waiting) == 0 || dueAt.After(time.UnixMicro(0)), "delayed messages are in the due index")
	require.False(t, dueAt.After(h.b.Now().Add(10*time.Second)), "they are asked again in time")
	var requests []store.Request
	for _, one := range waiting {
		var first struct{ ID string }
		line, _, _ := strings.Cut(string(one.Payload), "\n")
		require.NoError(t, json.Unmarshal([]byte(line), &first))
		for _, category := range []string{"a", "b", "c"} { // of another category, it is not found
			r := h.request(category)
			r.ID, r.Delayed, r.Event.Severity = first.ID, one.Number, "error"
			r.Enqueue = &store.Enqueue{Kind: store.KindMessage, Payload: one.Payload}
			requests = append(requests, r)
		}
	}
	if len(requests) > 0 {
		h.decide(store.ModePromote, requests)
	}
}

// compare compares all that can be read.
func (h *comparison) compare(t *rapid.T) {
	h.t = t
	require.Equal(t, h.a.DueIndex(h.tb), h.b.DueIndex(h.tb), "the due index of the first store, of the second")
	report := same(h, "report", func(w Fixture) (store.Report, error) { return w.Report(t.Context(), Scope) })
	require.Zero(t, report.Ledger.Imbalance(), "%+v", report.Ledger)
	same(h, "categories", func(w Fixture) ([]store.CategoryCounts, error) { return w.Categories(t.Context(), Scope) })
	same(h, "minutes", func(w Fixture) ([]store.MinuteCount, error) {
		_, all, err := w.Minutes(t.Context(), Scope, time.Hour)
		return append([]store.MinuteCount{}, all...), err
	})
	same(h, "usage", func(w Fixture) ([]ratelimit.Usage, error) {
		return store.UsageOf(t.Context(), w, Scope, h.request("a").Levels)
	})
	same(h, "drops", func(w Fixture) ([]store.Drop, error) {
		drops, err := w.Drops(t.Context(), Scope, "", 10)
		for i := range drops {
			drops[i].ID, drops[i].At = "", time.Time{}
		}
		return append([]store.Drop{}, drops...), err
	})
	same(h, "dead", func(w Fixture) ([]store.DeadLetter, error) {
		letters, err := w.A.DeadLetters(t.Context(), Scope, "", 10)
		for i := range letters {
			letters[i].ID, letters[i].At = "", time.Time{}
			if letters[i].Kind == store.KindDigest || letters[i].Kind == store.KindDigestEdit {
				letters[i].Payload = nil
			}
		}
		return append([]store.DeadLetter{}, letters...), err
	})
	for n := range int64(16) {
		same(h, "posted message", func(w Fixture) (*store.PostedMessage, error) {
			return w.A.PostedMessage(t.Context(), Scope, n+1)
		})
	}
}
