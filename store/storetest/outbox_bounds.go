package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var outboxBoundsBehaviours = []behaviour{
	{"LookupWithoutADelayIsMadeAtOnce", testLookupWithoutADelayIsMadeAtOnce},
	{"PacedMessageWaitsNoLongerThanItLives", testPacedMessageWaitsNoLongerThanItLives},
	{"FirstReasonOfAPauseStays", testFirstReasonOfAPauseStays},
	{"DigestRewritesItsOwnEntriesOnly", testDigestRewritesItsOwnEntriesOnly},
	{"TitlesAloneMakeNothingDue", testTitlesAloneMakeNothingDue},
	{"DropLogIsBoundedToTheByte", testDropLogIsBoundedToTheByte},
	{"DeletedDeadLettersMakeRoom", testDeletedDeadLettersMakeRoom},
	{"RestoredAttemptOfThisInstantIsLookedUp", testRestoredAttemptOfThisInstantIsLookedUp},
	{"RestoreKeepsOneDeadLetterAtLeast", testRestoreKeepsOneDeadLetterAtLeast},
	{"ForgottenIDsAreRemovedEvery32Admissions", testForgottenIDsAreRemovedEvery32Admissions},
}

// Without a delay, an attempt is looked up at once, also where the clock went back since. A delay is exact.
func testLookupWithoutADelayIsMadeAtOnce(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		delay, step time.Duration
		want        store.ClaimState
		wait        time.Duration
	}{
		"no delay":               {0, 0, store.Claimed, 0},
		"no delay, a step back":  {0, -time.Minute, store.Claimed, 0},
		"a delay of 1 µs":        {moment, 0, store.AwaitingLookup, moment},
		"a delay of 1 µs, later": {moment, moment, store.Claimed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.Fill(t, 1)
			require.NoError(t, b.A.Retry(t.Context(), Scope, ClaimEntry(t, b.A), store.RetryPlan{State: store.MaybePosted}))
			b.Advance(row.step)
			terms := Unpaced
			terms.LookupDelay = row.delay
			claim := Claim(t, b.A, terms)
			require.Equal(t, row.want, claim.State)
			require.Equal(t, row.wait, claim.Wait)
		})
	}
}

func testPacedMessageWaitsNoLongerThanItLives(t *testing.T, start Start) {
	for ttl, wait := range map[time.Duration]time.Duration{0: time.Minute, moment: 2 * moment, time.Hour: time.Minute} {
		t.Run(ttl.String(), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.Fill(t, 2)
			terms := store.Terms{Pace: store.Pace{Every: time.Minute, Burst: 1}, TTL: ttl}
			require.NoError(t, b.A.Ack(t.Context(), Scope, Claim(t, b.A, terms).Entry, store.Receipt{}))
			require.Equal(t, store.Claim{State: store.Paced, Wait: wait}, Claim(t, b.A, terms))
		})
	}
}

// A pause that another one would not lengthen keeps its reason.
func testFirstReasonOfAPauseStays(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	entry := ClaimEntry(t, b.A)
	for _, reason := range []string{"first", "second"} {
		require.NoError(t, b.A.Retry(t.Context(), Scope, entry, store.RetryPlan{Wait: time.Minute, Reason: reason}))
	}
	require.Equal(t, "first", b.BalancedReport(t).PauseReason)
}

// The edit of a digest is an entry of its own, whatever else waits.
func testDigestRewritesItsOwnEntriesOnly(t *testing.T, start Start) {
	b := start(t)
	terms := digestTerms(30 * time.Second)
	require.NoError(t, b.A.Append(t.Context(), Scope, "notice", store.KindNotice, []byte("{}")))
	require.NoError(t, b.A.Retry(t.Context(), Scope, ClaimEntry(t, b.A), store.RetryPlan{Waits: store.EntryWaits, Wait: time.Hour}))
	for _, name := range []string{"disk", "cpu"} {
		b.DropForDigest(t, name, 2)
		b.Advance(30 * time.Second)
		require.Equal(t, store.DigestDue, Claim(t, b.A, terms).State)
		require.NoError(t, b.A.Digest(t.Context(), Scope, terms.Digest))
		require.NoError(t, b.A.Ack(t.Context(), Scope, Claim(t, b.A, terms).Entry, store.Receipt{Channel: "C1", TS: "1.1"}))
	}
	b.Advance(time.Hour)
	notice := ClaimEntry(t, b.A)
	require.Equal(t, int64(1), notice.Number)
	require.Equal(t, "{}", string(notice.Payload))
}

func testTitlesAloneMakeNothingDue(t *testing.T, start Start) {
	b := start(t)
	b.noteForDigest(t, 1, map[string]int64{"t:a title": 1})
	require.Empty(t, b.DueIndex(t))
	b.noteForDigest(t, 2, map[string]int64{"d:disk:error": 1})
	require.Len(t, b.DueIndex(t), 1)
}

// largeDrops drops n events that take 32 KiB each with the 256 bytes beside their payloads.
func (b Fixture) largeDrops(t *testing.T, from, n int) {
	t.Helper()
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 10_000}
	closed := Limits{Channel: PerMinute(100), Category: PerMinute(0)}
	var requests []store.Request
	for i := range n {
		r := closed.AlertRequest(h, fmt.Sprint(from+i), "c", "", "")
		r.Headroom = 100 // so that it does not fit now, rather than never
		r.Enqueue.Payload = fmt.Appendf(nil, "%0*d", LargeEvent-256, from+i)
		requests = append(requests, r)
		if len(requests) == 64 || i == n-1 {
			b.MustAdmit(t, requests...)
			requests = nil
		}
	}
}

// The log holds 16 MiB of drops: none is removed before that is exceeded.
func testDropLogIsBoundedToTheByte(t *testing.T, start Start) {
	b := start(t)
	count := func() int {
		drops, err := b.Drops(t.Context(), Scope, "", 10_000)
		require.NoError(t, err)
		return len(drops)
	}
	b.largeDrops(t, 0, 512)
	require.Equal(t, 512, count())
	b.largeDrops(t, 512, 1)
	require.Equal(t, 512, count())
}

// Dead letters hold 8 MiB. Those that are deleted make room for others.
func testDeletedDeadLettersMakeRoom(t *testing.T, start Start) {
	b := start(t)
	buried := 0
	bury := func(n int) {
		for range n {
			r := wide.AlertRequest(editedResolves, fmt.Sprint(buried), "c", "", "")
			buried++
			r.Enqueue.Payload = make([]byte, LargeEvent-1024)
			b.AdmitOne(t, r)
			require.NoError(t, b.C.Bury(t.Context(), Scope, ClaimEntry(t, b.C), store.DeadReason{Reason: "no"}))
		}
	}
	bury(200)
	letters, err := b.C.DeadLetters(t.Context(), Scope, "", 200)
	require.NoError(t, err)
	for _, letter := range letters[50:] {
		_, err := b.C.DeleteDead(t.Context(), Scope, letter.ID)
		require.NoError(t, err)
	}
	bury(200)
	letters, err = b.C.DeadLetters(t.Context(), Scope, "", 1000)
	require.NoError(t, err)
	require.Len(t, letters, 250)
}

// What was tried just now, before the store took it in, may have been posted.
func testRestoredAttemptOfThisInstantIsLookedUp(t *testing.T, start Start) {
	e := afterOutage(start(t))
	e.restore(t, []store.Request{narrow.Request("1", "c")}, &store.OutageResult{Attempts: 1, FirstAttempt: 1, LastAttempt: 1})
	claim := e.claim(t, time.Second)
	require.Equal(t, store.AwaitingLookup, claim.State)
	require.Equal(t, time.Second-moment, claim.Wait)
	e.Advance(time.Second)
	require.Equal(t, StartTime.Add(-moment).UnixMicro(), e.claim(t, time.Second).Entry.UnknownSince.UnixMicro())
}

func testRestoreKeepsOneDeadLetterAtLeast(t *testing.T, start Start) {
	e := afterOutage(start(t))
	failed := &store.OutageResult{Result: store.Failed, Reason: "no"}
	e.restore(t, []store.Request{narrow.Request("1", "c"), narrow.Request("2", "c")}, failed, failed)
	letters := e.dead(t)
	require.Len(t, letters, 1)
	require.Equal(t, int64(2), letters[0].Number)
	require.Zero(t, letters[0].Attempts)
	e.restore(t, []store.Request{narrow.Request("3", "c")})
	require.Equal(t, StartTime.UnixMicro(), e.claim(t, 0).Entry.AdmittedAt, "what has no age was admitted now")
}

// With every 32nd admission, ids are removed that are no longer remembered, and stay unknown where the clock steps back. An id
// that was admitted again stays.
func testForgottenIDsAreRemovedEvery32Admissions(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		admissions int
		want       string
	}{"the 31st": {31, "==+"}, "the 32nd": {32, "+=+"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			of := func(id string) store.Request { return wide.Request(id, "c") }
			b.MustAdmit(t, of("old"), of("again"))
			b.Advance(time.Hour)
			b.MustAdmit(t, of("again"))
			for i := range row.admissions - 3 {
				b.MustAdmit(t, of(fmt.Sprint(i)))
			}
			b.Advance(-moment)
			require.Equal(t, row.want, Outcomes(b.MustAdmit(t, of("old"), of("again"), of("new"))))
		})
	}
}
