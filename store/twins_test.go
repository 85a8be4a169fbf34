package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
)

// world is one engine with its own clock, two senders of one channel and what admits into it.
type world struct {
	limiter store.Limiter
	senders []twin
	advance func(time.Duration)
	data    data
}

// twin is an outbox with its budgets.
type twin interface {
	store.Outbox
	store.Budget
}

// history plays the same random steps in both engines; all that can be seen of them must be the same.
type history struct {
	tb       testing.TB
	t        *rapid.T
	memory   world
	redis    world
	handling *store.MessagePolicy
	terms    store.Terms
	claimed  map[int]store.Entry // by sender
	bundles  int
	sent     map[[2]int64]bool // what was handed out to be sent, and of which nobody said since that it was not posted
}

// The in-memory twins do what the scripts do, whatever comes.
func TestTheTwinsAgree(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	rapid.Check(t, func(rt *rapid.T) {
		require.NoError(rt, client.FlushAll(t.Context()).Err())
		now := start
		data := memory.NewData(memory.DataOptions{Now: func() time.Time { return now }})
		clocked := redistest.NewClocked(t, client, start)
		h := &history{tb: t, t: rt, claimed: map[int]store.Entry{}, sent: map[[2]int64]bool{}}
		h.memory = world{limiter: memory.New(data, memory.Options{}), advance: func(d time.Duration) { now = now.Add(d) }, data: memoryData{data}}
		h.redis = world{limiter: redisstore.New(clocked, redisstore.Options{Now: clocked.Now}), advance: clocked.Advance, data: redisData{client}}
		for _, opts := range []store.Options{ownedByA, ownedByB} {
			h.memory.senders = append(h.memory.senders, memory.New(data, memory.Options{Options: opts}))
			h.redis.senders = append(h.redis.senders, redisstore.New(lossy{clocked}, redisstore.Options{Options: opts}))
		}
		h.draw()
		rt.Repeat(map[string]func(*rapid.T){
			"admit": h.admit, "admit more": h.admit, "promote": h.promote, "claim": h.claim, "claim again": h.claim, "settle": h.settle, "settle again": h.settle,
			"digest": h.digest, "put": h.put, "wait": h.wait, "budget": h.budget, "delete": h.deleteDead, "go back": h.goBack,
			"": h.compare,
		})
	})
}

// draw decides how the channel is set up.
func (h *history) draw() {
	h.handling = &store.MessagePolicy{
		Overflow:   rapid.SampledFrom([]store.OverflowPolicy{"drop", "delay", "merge"}).Draw(h.t, "overflow"),
		MaxDelayed: 3, MaxDelay: 90 * time.Second,
		Resolves: rapid.SampledFrom([]store.ResolvesPolicy{"post", "reply", "edit"}).Draw(h.t, "resolves"),
		Repeats:  rapid.Bool().Draw(h.t, "repeats"), Digest: true, KeepDrops: 5, PostedFor: 5 * time.Minute,
	}
	h.terms = store.Terms{
		Pace: store.Pace{Every: time.Duration(rapid.IntRange(0, 2).Draw(h.t, "pace")) * time.Second, Burst: 2}, TTL: 2 * time.Minute,
		LookupDelay: time.Duration(rapid.IntRange(0, 1).Draw(h.t, "settle")) * 5 * time.Second,
		Digest: store.DigestTerms{
			Interval: time.Minute, EditEvery: time.Duration(rapid.IntRange(0, 1).Draw(h.t, "live")) * 10 * time.Second,
			Minimum: int64(rapid.IntRange(1, 2).Draw(h.t, "minimum")),
		},
	}
}

// same wants both engines to answer alike.
func same[T any](h *history, what string, ask func(w world) (T, error)) T {
	m, memoryErr := ask(h.memory)
	r, redisErr := ask(h.redis)
	require.Equal(h.t, memoryErr == nil, redisErr == nil, "%s: memory %v, redis %v", what, memoryErr, redisErr)
	require.Equal(h.t, m, r, what)
	return r
}

func (h *history) request(category string) store.Request {
	return store.Request{
		Category: category, Policy: h.handling,
		Levels: []ratelimit.Level{
			store.NewChannelLevel("alerts", ratelimit.Window{Limit: 4, Per: time.Minute}),
			store.NewLevel(scope, "category", category, ratelimit.Window{Limit: 2, Per: time.Minute}),
		},
	}
}

func (h *history) admit(t *rapid.T) {
	h.t = t
	h.bundles++
	bundle := rapid.SampledFrom([]string{"", fmt.Sprint(h.bundles), "@"}).Draw(t, "bundle") // @ goes on in a later call
	names, most := []string{"", "f1", "f2", "f3"}, 4
	if rapid.IntRange(0, 3).Draw(t, "many") == 0 {
		names, most = []string{"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15", "f16", ""}, 20
	}
	forced := rapid.IntRange(0, 9).Draw(t, "forced") == 0
	var requests []store.Request
	for range rapid.IntRange(1, most).Draw(t, "events") {
		id := fmt.Sprint(rapid.IntRange(0, 200).Draw(t, "id"))
		r := h.request(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "category"))
		r.ID = id
		r.Enqueue = &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)}
		r.Event = store.Event{
			Status:      rapid.SampledFrom([]store.Status{"", "firing", "firing", "resolved"}).Draw(t, "status"),
			Fingerprint: rapid.SampledFrom(names).Draw(t, "fingerprint"),
			Severity:    "error", Title: "title " + id,
		}
		r.Event.Bundle, r.Forced = bundle, forced
		requests = append(requests, r)
	}
	h.decide("admit", requests)
}

// decided is what a decision is compared by.
type decided struct {
	outcome store.Outcome
	level   string
	refused string
	retry   time.Duration
}

func (h *history) decide(what string, requests []store.Request) {
	same(h, what, func(w world) ([]decided, error) {
		decisions, err := w.limiter.Admit(h.t.Context(), scope, slices.Clone(requests))
		all := make([]decided, len(decisions))
		for i, d := range decisions {
			all[i] = decided{d.Outcome, d.Level, strings.Join(d.Refused, " "), d.RetryAfter}
			if d.Outcome != store.Dropped {
				all[i].level, all[i].refused = "", "" // of what is folded, nobody asked the levels
			}
		}
		return all, err
	})
}

func (h *history) promote(t *rapid.T) {
	h.t = t
	waiting := same(h, "delayed", func(w world) ([]store.DelayedMessage, error) {
		all, err := w.senders[0].Delayed(t.Context(), channel)
		return append([]store.DelayedMessage{}, all...), err
	})
	var requests []store.Request
	for _, one := range waiting {
		var first struct{ ID string }
		line, _, _ := strings.Cut(string(one.Payload), "\n")
		require.NoError(t, json.Unmarshal([]byte(line), &first))
		for _, category := range []string{"a", "b", "c"} { // whose it is not is not found
			r := h.request(category)
			r.ID, r.Delayed, r.Event.Severity = first.ID, one.Number, "error"
			r.Enqueue = &store.Enqueue{Kind: store.KindMessage, Payload: one.Payload}
			requests = append(requests, r)
		}
	}
	if len(requests) > 0 {
		h.decide("promote", requests)
	}
}

func (h *history) claim(t *rapid.T) {
	h.t = t
	sender := rapid.IntRange(0, 1).Draw(t, "sender")
	look := rapid.IntRange(0, 4).Draw(t, "look") == 0
	lost := rapid.IntRange(0, 3).Draw(t, "answered") == 0
	claim := same(h, "claim", func(w world) (store.Claim, error) {
		asking := t.Context()
		if lost {
			asking = &unanswered{Context: asking}
		}
		c, err := w.senders[sender].Claim(asking, channel, h.terms, look)
		c.Until = time.Time{}
		if c.Entry.Kind == store.KindDigest || c.Entry.Kind == store.KindDigestEdit {
			var digest store.Digest
			require.NoError(t, json.Unmarshal(c.Entry.Payload, &digest))
			c.Entry.Payload = fmt.Append(nil, digest) // the order of JSON's fields says nothing
		}
		return c, err
	})
	if claim.State == store.Claimed || claim.State == store.Stale { // which that of a lost claim is not
		h.claimed[sender] = claim.Entry
	}
	if claim.State == store.Claimed && !strings.HasSuffix(claim.Entry.Kind, store.KindEdit) && claim.Entry.UnknownSince.IsZero() {
		name := [2]int64{claim.Entry.Number, claim.Entry.AdmittedAt}
		require.False(t, h.sent[name], "%v may have been posted", name)
		h.sent[name] = true
	}
}

func (h *history) settle(t *rapid.T) {
	h.t = t
	sender := rapid.IntRange(0, 1).Draw(t, "sender")
	entry, ok := h.claimed[sender]
	if !ok {
		return
	}
	delete(h.claimed, sender)
	n := entry.Number
	seconds := func(most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, "seconds")) * time.Second
	}
	var settle func(o store.Outbox) error
	unsent := false
	switch rapid.SampledFrom([]string{"ack", "ack", "ack", "bury", "expire", "drop", "retry", "retry", "release", "renew"}).Draw(t, "how") {
	case "ack":
		settle = func(o store.Outbox) error {
			return o.Ack(t.Context(), channel, entry, store.Receipt{Channel: "C1", TS: fmt.Sprint(n, ".000001")})
		}
	case "bury":
		death := store.DeadReason{Reason: "is_archived", Answer: "no", MaybePosted: rapid.Bool().Draw(t, "shown")}
		if rapid.Bool().Draw(t, "copy") {
			death.CopyTo = &store.Channel{Group: "alerts", Name: "alerts~fallback"}
		}
		settle = func(o store.Outbox) error { return o.Bury(t.Context(), channel, entry, death) }
	case "expire":
		settle = func(o store.Outbox) error {
			return o.Expire(t.Context(), channel, entry, map[string]int64{"x:a:error": 2, "t:old": 2})
		}
	case "drop":
		settle = func(o store.Outbox) error { return o.Discard(t.Context(), channel, entry) }
	case "retry":
		p := store.RetryPlan{Wait: seconds(20), Reason: "rate_limited", Fault: rapid.Bool().Draw(t, "fault")}
		p.Waits = rapid.SampledFrom([]string{"", store.ChannelWaits, store.EditsWait, store.EntryWaits}).Draw(t, "who")
		p.State = rapid.SampledFrom([]store.SendState{"", store.NotPosted, store.MaybePosted, store.NotFound, store.SendAgain}).Draw(t, "fate")
		settle = func(o store.Outbox) error { return o.Retry(t.Context(), channel, entry, p) }
		unsent = p.State != store.MaybePosted && p.State != store.NotFound
	case "renew":
		h.claimed[sender] = entry
		settle = func(o store.Outbox) error { _, err := o.Renew(t.Context(), channel); return err }
	default:
		settle = func(o store.Outbox) error { return o.Release(t.Context(), channel) }
	}
	before := h.redis.data.all(h.tb)
	gone := !h.waits(entry)
	var err error
	same(h, "settle", func(w world) (string, error) {
		err = settle(w.senders[sender])
		return "", err
	})
	if unsent && err == nil {
		delete(h.sent, [2]int64{n, entry.AdmittedAt})
	}
	if gone {
		require.Equal(t, before, h.redis.data.all(h.tb), "settling what is gone changes nothing")
	}
}

// waits tells whether an entry is there under its name.
func (h *history) waits(entry store.Entry) bool {
	client := h.redis.data.(redisData).client
	text := client.HGet(h.t.Context(), "relay:{alerts}:entries:alerts", fmt.Sprint(entry.Number)).Val()
	return strings.HasPrefix(text, fmt.Sprint(entry.AdmittedAt, " "))
}

// goBack lets both stores be what they were a few steps ago, while the senders still hold what they claimed since.
func (h *history) goBack(t *rapid.T) {
	h.t = t
	restore := []func(){h.memory.data.save(h.tb), h.redis.data.save(h.tb)}
	steps := []func(*rapid.T){h.admit, h.put, h.claim, h.claim, h.settle, h.digest, h.wait}
	for range rapid.IntRange(1, 8).Draw(t, "steps that are forgotten") {
		rapid.SampledFrom(steps).Draw(t, "step")(t)
	}
	for _, again := range restore {
		again()
	}
	clear(h.sent) // who held them may send them once more: what Redis forgot, nobody knows
	h.memory.advance(time.Second)
	h.redis.advance(time.Second)
	for range rapid.IntRange(0, 4).Draw(t, "steps since") {
		rapid.SampledFrom(steps).Draw(t, "step")(t)
	}
}

func (h *history) digest(t *rapid.T) {
	h.t = t
	same(h, "digest", func(w world) (string, error) { return "", w.senders[0].Digest(t.Context(), channel, h.terms.Digest) })
}

func (h *history) put(t *rapid.T) {
	h.t = t
	id := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "notice"))
	same(h, "put", func(w world) (string, error) {
		return "", w.senders[0].Append(t.Context(), channel, id, store.KindNotice, []byte("{}"))
	})
}

func (h *history) wait(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, 11 * time.Second, time.Minute, 6 * time.Minute}).Draw(t, "time")
	h.memory.advance(d)
	h.redis.advance(d)
}

func (h *history) budget(t *rapid.T) {
	h.t = t
	if rapid.IntRange(0, 5).Draw(t, "pause") == 0 {
		wait := time.Duration(rapid.IntRange(0, 5).Draw(t, "for")) * time.Second
		same(h, "pause", func(w world) (string, error) {
			return "", w.senders[0].PauseCredential(t.Context(), "ws", "token_revoked", wait)
		})
	}
	take := func(ask func(w world) (time.Duration, string, error)) {
		same(h, "budget", func(w world) (string, error) {
			wait, reason, err := ask(w)
			return fmt.Sprint(wait, reason), err
		})
	}
	take(func(w world) (time.Duration, string, error) {
		return w.senders[0].ReserveCall(t.Context(), "ws", store.MethodUpdate, 5)
	})
	take(func(w world) (time.Duration, string, error) { return w.senders[0].CredentialPaused(t.Context(), "ws") })
}

func (h *history) deleteDead(t *rapid.T) {
	h.t = t
	same(h, "delete", func(w world) (int, error) {
		letters, err := w.senders[0].DeadLetters(t.Context(), channel, "", 1)
		if err != nil || len(letters) == 0 {
			return 0, err
		}
		return w.senders[0].DeleteDead(t.Context(), channel, letters[0].ID)
	})
}

// compare looks at everything that can be read.
func (h *history) compare(t *rapid.T) {
	h.t = t
	report := same(h, "report", func(w world) (store.Report, error) { return w.limiter.Report(t.Context(), scope) })
	require.Zero(t, report.Ledger.Imbalance(), "%+v", report.Ledger)
	same(h, "categories", func(w world) ([]store.CategoryCounts, error) { return w.limiter.Categories(t.Context(), scope) })
	same(h, "drops", func(w world) ([]store.Drop, error) {
		drops, err := w.limiter.Drops(t.Context(), scope, "", 10)
		for i := range drops {
			drops[i].ID, drops[i].At = "", time.Time{}
		}
		return append([]store.Drop{}, drops...), err
	})
	same(h, "dead", func(w world) ([]store.DeadLetter, error) {
		letters, err := w.senders[0].DeadLetters(t.Context(), channel, "", 10)
		for i := range letters {
			letters[i].ID, letters[i].At = "", time.Time{}
			if letters[i].Kind == store.KindDigest || letters[i].Kind == store.KindDigestEdit {
				letters[i].Payload = nil
			}
		}
		return append([]store.DeadLetter{}, letters...), err
	})
	for n := range int64(16) {
		same(h, "record", func(w world) (*store.PostedMessage, error) {
			return w.senders[0].PostedMessage(t.Context(), channel, n+1)
		})
	}
}
