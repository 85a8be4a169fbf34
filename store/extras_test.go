package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var lookable = store.Terms{Pace: store.Pace{Burst: 1}, LookupDelay: 10 * time.Second}

// An attempt of which nobody knows whether it arrived: looked up after settle, again after twice that, then sent.
func TestTheWayOfADoubt(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 2)
		first := claim(t, b.a, lookable).Entry
		require.True(t, first.UnknownSince.IsZero())
		require.NoError(t, b.a.Retry(t.Context(), channel, first, store.RetryPlan{State: store.MaybePosted}))
		settling := claim(t, b.b, lookable)
		require.Equal(t, []any{store.AwaitingLookup, 10 * time.Second}, []any{settling.State, settling.Wait}, "and nothing overtakes it")
		report := b.report(t)
		require.Equal(t, []any{10 * time.Second, store.ReasonAwaitingLookup}, []any{report.PausedFor, report.PauseReason}, "and it is seen")
		b.advance(10 * time.Second)
		again := claim(t, b.b, lookable).Entry
		require.Equal(t, []any{first.Number, int64(0), start}, []any{again.Number, again.Lookups, again.UnknownSince})
		require.Zero(t, b.report(t).PausedFor)
		require.NoError(t, b.b.Retry(t.Context(), channel, again, store.RetryPlan{State: store.NotFound}))
		require.Equal(t, 20*time.Second, claim(t, b.b, lookable).Wait)
		b.advance(20 * time.Second)
		again = claim(t, b.a, lookable).Entry
		require.Equal(t, []any{int64(1), start}, []any{again.Lookups, again.UnknownSince})
		require.NoError(t, b.a.Retry(t.Context(), channel, again, store.RetryPlan{State: store.SendAgain}))
		again = claim(t, b.a, lookable).Entry
		require.True(t, again.UnknownSince.IsZero(), "it is sent again")
		b.advance(time.Minute)
		require.Equal(t, start, claim(t, b.b, lookable).Entry.UnknownSince, "from the first attempt on")
	})
}

// A sender that was killed while it sent leaves a doubt; one that knows that nothing was sent leaves none.
func TestWhatAKilledSenderLeaves(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		claim(t, b.a, lookable)
		b.advance(10 * time.Second)
		left := claim(t, b.b, lookable).Entry
		require.False(t, left.UnknownSince.IsZero())
		require.NoError(t, b.b.Retry(t.Context(), channel, left, store.RetryPlan{State: store.NotPosted}))
		require.True(t, claim(t, b.b, lookable).Entry.UnknownSince.IsZero())
	})
}

func TestStaleMessagesSpendNoPace(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		terms := store.Terms{Pace: store.Pace{Every: time.Minute, Burst: 1}, TTL: time.Hour}
		b.fill(t, 3)
		b.advance(time.Hour + time.Second)
		for range 3 {
			c := claim(t, b.a, terms)
			require.Equal(t, store.Stale, c.State)
			require.NoError(t, b.a.Expire(t.Context(), channel, c.Entry, map[string]int64{"x:c:info": 1, "t:old": 1}))
		}
		require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Expired: 3}, b.report(t).Ledger)
		b.advance(time.Second)
		require.Equal(t, store.DigestDue, claim(t, b.a, store.Terms{Pace: terms.Pace, Digest: store.DigestTerms{Interval: time.Hour, EditEvery: time.Second, Minimum: 3}}).State)
	})
}

// A resolve that takes the place of its firing while that is claimed to be expired is not expired with it.
func TestAResolveIsNotExpiredWithItsFiring(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		terms := store.Terms{Pace: store.Pace{Burst: 1}, TTL: time.Minute}
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "post"}
		admit := func(status store.Status) {
			_, err := b.limiter.Admit(t.Context(), scope, []store.Request{{
				ID: string(status), Policy: h, Event: store.Event{Status: status, Fingerprint: "f"}, Category: "c",
				Levels:  []ratelimit.Level{store.NewChannelLevel("alerts", ratelimit.Window{Limit: 5, Per: time.Hour})},
				Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(status)},
			}})
			require.NoError(t, err)
		}
		admit(store.Firing)
		b.advance(time.Hour)
		stale := claim(t, b.a, terms)
		require.Equal(t, store.Stale, stale.State)
		admit(store.Resolved)
		require.NoError(t, b.a.Expire(t.Context(), channel, stale.Entry, nil))
		c := claim(t, b.a, terms)
		require.Equal(t, []any{store.Claimed, "resolved"}, []any{c.State, string(c.Entry.Payload)})
		require.Equal(t, store.Ledger{Received: 2, Admitted: 2, Superseded: 1, Pending: 1}, b.report(t).Ledger)
	})
}

// An edit that must wait holds up no message, and spends no pace.
func TestEditsWaitAlone(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		paced := store.Terms{Pace: store.Pace{Every: time.Minute, Burst: 1}}
		require.NoError(t, b.a.Append(t.Context(), channel, "1", store.KindEdit, []byte("7")))
		b.advance(time.Second)
		b.fill(t, 1)
		edit := claim(t, b.a, paced).Entry
		require.Equal(t, store.KindEdit, edit.Kind)
		require.NoError(t, b.a.Retry(t.Context(), channel, edit, store.RetryPlan{Waits: store.EditsWait, Wait: time.Hour}))
		message := claim(t, b.a, paced).Entry
		require.Equal(t, "1 of 1", string(message.Payload))
		require.NoError(t, b.a.Ack(t.Context(), channel, message, store.Receipt{}))
		require.Equal(t, store.Paused, claim(t, b.a, paced).State)
		b.advance(time.Hour)
		require.NoError(t, b.a.Ack(t.Context(), channel, claim(t, b.a, paced).Entry, store.Receipt{}))
		require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, b.report(t).Ledger, "it is no message")
	})
}

func TestPutOnce(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		for range 3 {
			require.NoError(t, b.a.Append(t.Context(), channel, "paused", store.KindNotice, []byte(`{"text":"x"}`)))
		}
		c := claimed(t, b.b)
		require.Equal(t, []any{store.KindNotice, `{"text":"x"}`}, []any{c.Kind, string(c.Payload)})
		require.NoError(t, b.b.Ack(t.Context(), channel, c, store.Receipt{}))
		require.Equal(t, store.Empty, claim(t, b.b, unpaced).State)
		b.advance(25 * time.Hour)
		require.NoError(t, b.a.Append(t.Context(), channel, "paused", store.KindNotice, []byte("{}")))
		claimed(t, b.b)
	})
}

// A look claims nothing: it says what is ready.
func TestALookClaimsNothing(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		look := func() store.ClaimState {
			c, err := b.a.Claim(t.Context(), channel, unpaced, true)
			require.NoError(t, err)
			return c.State
		}
		require.Equal(t, store.Empty, look())
		b.fill(t, 1)
		require.Equal(t, store.PostReady, look())
		c := claimed(t, b.b)
		require.Equal(t, int64(0), c.Attempts)
		require.NoError(t, b.b.Ack(t.Context(), channel, c, store.Receipt{}))
		require.NoError(t, b.b.Release(t.Context(), channel))
		require.NoError(t, b.a.Append(t.Context(), channel, "1", store.KindEdit, []byte("1")))
		require.Equal(t, store.EditReady, look())
	})
}

// drop notes drops for the digest, as the limiter does.
func (b bundle) drop(t *testing.T, category string, n int) {
	t.Helper()
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true}
	for i := range n {
		_, err := b.limiter.Admit(t.Context(), scope, []store.Request{{
			ID: category + string(rune('a'+i)), Category: category, Policy: h, Event: store.Event{Severity: "error", Title: category},
			Levels:  []ratelimit.Level{store.NewLevel(scope, "closed", "x", ratelimit.Window{Limit: 0, Per: time.Hour})},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte("{}")},
		}})
		require.NoError(t, err)
	}
}

func digestOf(t *testing.T, e store.Entry) store.Digest {
	t.Helper()
	var d store.Digest
	require.NoError(t, json.Unmarshal(e.Payload, &d))
	return d
}

// By the bot token: posted at the first drop, edited with absolute totals, closed at the end; what comes later is of
// the next one. Any replica may ask for it at any time.
func TestADigestThatGrows(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		terms := store.Terms{Pace: store.Pace{Burst: 1}, Digest: store.DigestTerms{Interval: 10 * time.Minute, EditEvery: 30 * time.Second, Minimum: 1}}
		ask := func() {
			for _, o := range []store.Outbox{b.a, b.b, b.a} {
				require.NoError(t, o.Digest(t.Context(), channel, terms.Digest))
			}
		}
		send := func() store.Entry {
			e := claim(t, b.a, terms).Entry
			require.NoError(t, b.a.Ack(t.Context(), channel, e, store.Receipt{Channel: "C1", TS: "1.000001"}))
			return e
		}
		b.drop(t, "disk", 2)
		ask()
		require.Equal(t, store.Empty, claim(t, b.a, terms).State, "it waits a little for more")
		b.advance(10 * time.Second)
		require.Equal(t, store.DigestDue, claim(t, b.a, terms).State)
		ask()
		b.drop(t, "cpu", 1)
		ask()
		require.Equal(t, store.KindDigest, claim(t, b.a, terms).Entry.Kind, "not yet edited: 30 s have not passed")
		post := send()
		require.Equal(t, map[string]int64{"d:disk:error": 2, "t:disk": 2}, digestOf(t, post).Counts)
		require.Equal(t, []string{"disk"}, digestOf(t, post).Silent)
		record, err := b.a.PostedMessage(t.Context(), channel, post.Number)
		require.NoError(t, err)
		require.Equal(t, "1.000001", record.TS)

		b.advance(30 * time.Second)
		ask()
		b.advance(30 * time.Second)
		b.drop(t, "disk", 5)
		b.advance(time.Second)
		ask()
		edit := send()
		require.Equal(t, store.KindDigestEdit, edit.Kind)
		require.Equal(t, []any{int64(7), int64(1), post.Number, false},
			[]any{digestOf(t, edit).Counts["d:disk:error"], digestOf(t, edit).Counts["d:cpu:error"], digestOf(t, edit).Post, digestOf(t, edit).Closed},
			"absolute totals, in one edit")

		b.advance(10 * time.Minute)
		ask()
		require.True(t, digestOf(t, send()).Closed)
		require.Equal(t, store.Empty, claim(t, b.a, terms).State)
		b.drop(t, "late", 1)
		b.advance(10 * time.Second)
		ask()
		next := send()
		require.Equal(t, store.KindDigest, next.Kind)
		require.NotEqual(t, digestOf(t, post).ID, digestOf(t, next).ID)
	})
}

// By an incoming webhook: one post at the interval's end, if there is enough to tell.
func TestADigestAtTheEnd(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		terms := store.Terms{Pace: store.Pace{Burst: 1}, Digest: store.DigestTerms{Interval: 10 * time.Minute, Minimum: 3}}
		b.drop(t, "disk", 4)
		b.advance(10*time.Minute - time.Second)
		require.NoError(t, b.a.Digest(t.Context(), channel, terms.Digest))
		require.Equal(t, store.Empty, claim(t, b.a, terms).State)
		b.advance(time.Second)
		require.Equal(t, store.DigestDue, claim(t, b.b, terms).State)
		require.NoError(t, b.a.Digest(t.Context(), channel, terms.Digest))
		require.NoError(t, b.b.Digest(t.Context(), channel, terms.Digest))
		e := claim(t, b.b, terms).Entry
		require.Equal(t, []any{int64(4), true}, []any{digestOf(t, e).Counts["d:disk:error"], digestOf(t, e).Closed})
		require.NoError(t, b.b.Ack(t.Context(), channel, e, store.Receipt{}))

		b.drop(t, "cpu", 2)
		b.advance(10 * time.Minute)
		require.NoError(t, b.a.Digest(t.Context(), channel, terms.Digest))
		require.Equal(t, store.Empty, claim(t, b.a, terms).State, "too little to tell of")
	})
}

func TestDeadLettersAreListed(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 3)
		fallback := store.Channel{Group: "alerts", Name: "alerts~fallback"}
		for range 3 {
			death := store.DeadReason{Reason: "is_archived", Answer: "no", CopyTo: &fallback}
			require.NoError(t, b.a.Bury(t.Context(), channel, claimed(t, b.a), death))
			b.advance(time.Second)
		}
		letters, err := b.a.DeadLetters(t.Context(), channel, "", 10)
		require.NoError(t, err)
		require.Len(t, letters, 2, "as many as are kept")
		require.Equal(t, []any{"3 of 3", "message", "is_archived", "no", int64(1)},
			[]any{string(letters[0].Payload), letters[0].Kind, letters[0].Reason, letters[0].Answer, letters[0].Attempts})
		page, err := b.a.DeadLetters(t.Context(), channel, letters[0].ID, 10)
		require.NoError(t, err)
		require.Equal(t, letters[1:], page)
		n, err := b.b.DeleteDead(t.Context(), channel, letters[0].ID, "1-1")
		require.NoError(t, err)
		require.Equal(t, 1, n)
		copied, err := b.a.Claim(t.Context(), fallback, unpaced, false)
		require.NoError(t, err)
		require.Equal(t, []string{store.KindCopy, "1 of 3"}, []string{copied.Entry.Kind, string(copied.Entry.Payload)})
	})
}

func TestALeaseIsRenewed(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		claimed(t, b.a)
		b.advance(9 * time.Second)
		until, err := b.a.Renew(t.Context(), channel)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(10*time.Second), until, 2*time.Second)
		b.advance(9 * time.Second)
		require.Equal(t, store.Leased, claim(t, b.b, unpaced).State)
		_, err = b.b.Renew(t.Context(), channel)
		require.ErrorIs(t, err, store.ErrLeaseLost)
	})
}

func TestABudgetAndItsPause(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		one, _ := b.a.(store.Budget)
		other, _ := b.b.(store.Budget)
		take := func(o store.Budget) (time.Duration, string) {
			wait, reason, err := o.ReserveCall(t.Context(), "ws", store.MethodPost, 60)
			require.NoError(t, err)
			return wait, reason
		}
		for range 15 { // half of a minute's at once, over all replicas
			for _, o := range []store.Budget{one, other} {
				wait, _ := take(o)
				require.Zero(t, wait)
			}
		}
		wait, reason := take(one)
		require.Equal(t, []any{time.Second, ""}, []any{wait, reason})
		require.NoError(t, one.PauseCredential(t.Context(), "ws", "token_revoked", time.Minute))
		wait, reason = take(other)
		require.Equal(t, []any{time.Minute, "token_revoked"}, []any{wait, reason})
		wait, reason, err := other.CredentialPaused(t.Context(), "ws")
		require.NoError(t, err)
		require.Equal(t, []any{time.Minute, "token_revoked"}, []any{wait, reason})
		require.NoError(t, other.PauseCredential(t.Context(), "ws", "", 0))
		b.advance(time.Second)
		wait, _ = take(one)
		require.Zero(t, wait)
	})
}

const large = 32 << 10

// largeRequests ask for n slots for long messages, of as many categories.
func largeRequests(n, limit int, h *store.MessagePolicy, bundle string) []store.Request {
	requests := make([]store.Request, n)
	for i := range requests {
		category := fmt.Sprint("c", i)
		if bundle != "" {
			category = "c"
		}
		requests[i] = store.Request{
			ID: fmt.Sprint(bundle, "large", i, h.Overflow), Category: category, Policy: h, Event: store.Event{Severity: "error", Bundle: bundle, Status: store.Firing, Fingerprint: fmt.Sprint("f", i)},
			Levels:  []ratelimit.Level{store.NewChannelLevel("alerts", ratelimit.Window{Limit: int64(limit), Per: time.Hour})},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: bytes.Repeat([]byte{byte('a' + i%26)}, large)},
		}
	}
	return requests
}

// Dead letters are bounded in bytes: the oldest go, whatever their number.
func TestDeadLettersAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		all := b.many
		for from := 0; from < 300; from += 100 {
			requests := largeRequests(300, 1000, &store.MessagePolicy{Overflow: "drop", Resolves: "post"}, "")
			_, err := b.limiter.Admit(t.Context(), scope, requests[from:from+100])
			require.NoError(t, err)
		}
		for range 300 {
			require.NoError(t, all.Bury(t.Context(), channel, claimed(t, all), store.DeadReason{Reason: "is_archived"}))
		}
		letters, err := all.DeadLetters(t.Context(), channel, "", 1000)
		require.NoError(t, err)
		size := 0
		for _, letter := range letters {
			size += len(letter.Payload)
		}
		require.LessOrEqual(t, size, 8<<20)
		require.Greater(t, size, 7<<20, "no more is lost than must be")
		require.Equal(t, int64(300), letters[0].Number)
		require.Equal(t, int64(300-len(letters)+1), letters[len(letters)-1].Number)
	})
}

// What waits for a slot is listed as far as it is no more than one answer can hold.
func TestWhatIsDelayedIsListedInParts(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 1000, MaxDelay: time.Hour, Resolves: "post"}
		_, err := b.limiter.Admit(t.Context(), scope, largeRequests(60, 1, h, ""))
		require.NoError(t, err)
		waiting, err := b.a.Delayed(t.Context(), channel)
		require.NoError(t, err)
		require.Len(t, waiting, 8)
	})
}

// A message of a bundle tells of as many events as it may be long; the others are counted, and so is what a resolve may find.
func TestBundlesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
		requests := largeRequests(9, 10, h, "webhook")
		requests[8].Enqueue.Payload = []byte("small")
		_, err := b.limiter.Admit(t.Context(), scope, requests)
		require.NoError(t, err)
		entry := claimed(t, b.a)
		require.Equal(t, strings.Repeat("a", large)+"\nsmall\n+7", string(entry.Payload))
		record, err := b.a.PostedMessage(t.Context(), channel, entry.Number)
		require.NoError(t, err)
		require.Len(t, record.Events, 2)
		require.Len(t, record.Members, 7)
	})
}
