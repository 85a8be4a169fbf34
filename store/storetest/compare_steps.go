package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/store"
)

// step is a report on a claimed entry, or what a sender does with its lease.
type step struct {
	run func(o store.Queue) error
	// isUnsent tells that the entry was certainly not posted, and may be sent once more.
	isUnsent bool
}

func (h *comparison) settle(t *rapid.T) {
	h.t = t
	sender := rapid.IntRange(0, 1).Draw(t, "sender")
	entry, ok := h.claimed[sender]
	if !ok {
		return
	}
	delete(h.claimed, sender)
	how := rapid.SampledFrom([]string{"ack", "ack", "ack", "bury", "expire", "discard", "retry", "retry", "release", "renew"}).Draw(t, "how")
	if how == "renew" {
		h.claimed[sender] = entry
		h.leased[sender] = h.b.Now().Add(10 * time.Second)
	}
	drawn := drawStep(t, how, entry)
	before := h.b.Snapshot(h.tb)
	gone := !h.b.Queued(h.tb, entry)
	require.Equal(t, !gone, h.a.Queued(h.tb, entry), "queued in both stores, or in neither")
	var err error
	same(h, "settle", func(w Fixture) (string, error) {
		err = drawn.run(w.sender(sender))
		return "", err
	})
	if drawn.isUnsent && err == nil {
		delete(h.sent, nameOf(entry))
	}
	if gone {
		require.Equal(t, before, h.b.Snapshot(h.tb), "settling what is gone changes nothing")
	}
}

func drawStep(t *rapid.T, how string, entry store.Entry) step {
	switch how {
	case "ack":
		return step{run: func(o store.Queue) error {
			return o.Ack(t.Context(), Scope, entry, store.Receipt{Channel: "C1", TS: fmt.Sprint(entry.Number, ".000001")})
		}}
	case "bury":
		return drawBurial(t, entry)
	case "expire":
		return step{run: func(o store.Queue) error {
			return o.Expire(t.Context(), Scope, entry, map[string]int64{"x:a:error": 2, "t:old": 2})
		}}
	case "discard":
		return step{run: func(o store.Queue) error { return o.Discard(t.Context(), Scope, entry) }}
	case "retry":
		return drawRetry(t, entry)
	case "renew":
		return step{run: func(o store.Queue) error { _, err := o.Renew(t.Context(), Scope); return err }}
	default:
		return step{run: func(o store.Queue) error { return o.Release(t.Context(), Scope) }}
	}
}

func drawBurial(t *rapid.T, entry store.Entry) step {
	reason := store.DeadReason{Reason: "is_archived", Answer: "no", MaybePosted: rapid.Bool().Draw(t, "shown")}
	if rapid.Bool().Draw(t, "copy") {
		reason.CopyTo = &store.Channel{Group: "alerts", Name: "alerts~fallback"}
	}
	return step{run: func(o store.Queue) error { return o.Bury(t.Context(), Scope, entry, reason) }}
}

func drawRetry(t *rapid.T, entry store.Entry) step {
	p := store.RetryPlan{
		Wait:   time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second,
		Reason: "rate_limited", Fault: rapid.Bool().Draw(t, "fault"),
	}
	p.Waits = rapid.SampledFrom([]string{"", store.ChannelWaits, store.EditsWait, store.EntryWaits}).Draw(t, "who")
	p.State = rapid.SampledFrom([]store.SendState{"", store.NotPosted, store.MaybePosted, store.NotFound, store.SendAgain}).Draw(t, "fate")
	return step{
		run:      func(o store.Queue) error { return o.Retry(t.Context(), Scope, entry, p) },
		isUnsent: p.State != store.MaybePosted && p.State != store.NotFound,
	}
}

// goBack restores both stores as they were a few steps ago, while the senders still have what they claimed since.
func (h *comparison) goBack(t *rapid.T) {
	h.t = t
	restore := []func(){h.a.Save(h.tb), h.b.Save(h.tb)}
	steps := []func(*rapid.T){h.admit, h.appendNotice, h.claim, h.claim, h.settle, h.digest, h.wait}
	for range rapid.IntRange(1, 8).Draw(t, "steps that are forgotten") {
		rapid.SampledFrom(steps).Draw(t, "step")(t)
	}
	for _, again := range restore {
		again()
	}
	clear(h.sent) // they may be sent once more: nobody knows what the store forgot
	h.a.Advance(time.Second)
	h.b.Advance(time.Second)
	for range rapid.IntRange(0, 4).Draw(t, "steps since") {
		rapid.SampledFrom(steps).Draw(t, "step")(t)
	}
}

// requireDueBefore requires that before a claim, the channel was due no later than its work could go on, so that a sender
// that only asks what is due finds it in time. dueAt is 1970 if it was not in the index.
func (h *comparison) requireDueBefore(sender int, claim store.Claim, dueAt time.Time) {
	latest := h.b.Now().Add(claim.Wait + time.Second) // a second for those who looked before, and may go on with it
	if claim.State == store.Empty {                   // or the claim was not answered
		return
	}
	if claim.State == store.DigestDue { // of a few events that just have become enough
		latest = latest.Add(h.terms.Digest.EditEvery / 3)
	}
	if latest.Before(h.leased[sender]) { // who has the lease goes on by itself
		latest = h.leased[sender]
	}
	require.True(h.t, dueAt.After(time.UnixMicro(0)), "%v: the channel is not in the due index", claim.State)
	require.False(h.t, dueAt.After(latest), "%v: the channel is due %v too late", claim.State, dueAt.Sub(latest))
}

func (h *comparison) digest(t *rapid.T) {
	h.t = t
	same(h, "digest", func(w Fixture) (string, error) { return "", w.A.Digest(t.Context(), Scope, h.terms.Digest) })
}

func (h *comparison) appendNotice(t *rapid.T) {
	h.t = t
	id := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "notice"))
	same(h, "append", func(w Fixture) (string, error) {
		return "", w.A.Append(t.Context(), Scope, id, store.KindNotice, []byte("{}"))
	})
}

// comparedWaits are the times of the terms and policies that are drawn, so that steps come at the instant at which something
// ends, and shorter and longer ones.
var comparedWaits = []time.Duration{
	time.Microsecond, time.Second, time.Second, 5 * time.Second, 10 * time.Second, 11 * time.Second, 15 * time.Second, time.Minute,
	time.Minute, 90 * time.Second, 2 * time.Minute, 5 * time.Minute, 6 * time.Minute,
}

func (h *comparison) wait(t *rapid.T) {
	d := rapid.SampledFrom(comparedWaits).Draw(t, "time")
	h.a.Advance(d)
	h.b.Advance(d)
}

func (h *comparison) budget(t *rapid.T) {
	h.t = t
	if rapid.IntRange(0, 5).Draw(t, "pause") == 0 {
		wait := time.Duration(rapid.IntRange(0, 5).Draw(t, "for")) * time.Second
		same(h, "pause", func(w Fixture) (string, error) {
			return "", w.A.PauseCredential(t.Context(), "ws", "token_revoked", wait)
		})
	}
	wanted := store.Calls{Method: store.MethodUpdate, PerMinute: 5, N: rapid.Int64Range(0, 3).Draw(t, "calls")}
	same(h, "budget", func(w Fixture) (store.Reservation, error) { return w.A.ReserveCalls(t.Context(), "ws", wanted) })
	same(h, "credential", func(w Fixture) (string, error) {
		wait, reason, err := w.A.CredentialPaused(t.Context(), "ws")
		return fmt.Sprint(wait, reason), err
	})
}

func (h *comparison) deleteDead(t *rapid.T) {
	h.t = t
	same(h, "delete", func(w Fixture) (int, error) {
		letters, err := w.A.DeadLetters(t.Context(), Scope, "", 1)
		if err != nil || len(letters) == 0 {
			return 0, err
		}
		return w.A.DeleteDead(t.Context(), Scope, letters[0].ID)
	})
}
