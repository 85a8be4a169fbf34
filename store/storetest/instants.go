package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var instantsBehaviours = []behaviour{
	{"BlockedClaimHasItsExactWait", testBlockedClaimHasItsExactWait},
	{"MessageIsStaleJustAfterItsTimeToLive", testMessageIsStaleJustAfterItsTimeToLive},
	{"PaceHasItsExactWait", testPaceHasItsExactWait},
	{"PauseEndsAtItsInstant", testPauseEndsAtItsInstant},
	{"ClaimBlockedTwiceWaitsForTheSooner", testClaimBlockedTwiceWaitsForTheSooner},
	{"MessageIsClaimedBeforeAnExtraOfTheSameInstant", testMessageIsClaimedBeforeAnExtraOfTheSameInstant},
	{"BudgetHasItsExactWait", testBudgetHasItsExactWait},
	{"CredentialIsPausedUntilItsInstant", testCredentialIsPausedUntilItsInstant},
	{"LeaseEndsAtItsInstant", testLeaseEndsAtItsInstant},
	{"DelayedMessageIsDroppedJustAfterItsDelay", testDelayedMessageIsDroppedJustAfterItsDelay},
}

const moment = time.Microsecond

func testBlockedClaimHasItsExactWait(t *testing.T, start Start) {
	b := start(t)
	require.Equal(t, store.Claim{State: store.Empty}, Claim(t, b.A, Unpaced))
	b.Fill(t, 1)
	look := func() store.Claim {
		claim, err := b.A.Claim(t.Context(), Scope, Unpaced, true)
		require.NoError(t, err)
		return claim
	}
	require.Equal(t, store.Claim{State: store.PostReady}, look())
	e := ClaimEntry(t, b.A)
	b.Advance(3 * time.Second)
	require.Equal(t, store.Claim{State: store.Leased, Wait: 7 * time.Second}, Claim(t, b.B, Unpaced))
	require.NoError(t, b.A.Ack(t.Context(), Scope, e, store.Receipt{}))
	require.NoError(t, b.A.Append(t.Context(), Scope, "1", store.KindEdit, []byte("1")))
	require.Equal(t, store.Claim{State: store.EditReady}, look())
}

func testMessageIsStaleJustAfterItsTimeToLive(t *testing.T, start Start) {
	for age, want := range map[time.Duration]store.ClaimState{
		time.Minute: store.Claimed, time.Minute + moment: store.Stale,
	} {
		t.Run(age.String(), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.Fill(t, 1)
			b.Advance(age)
			terms := Unpaced
			terms.TTL = time.Minute
			claim := Claim(t, b.A, terms)
			require.Equal(t, want, claim.State)
			require.Equal(t, age, claim.Entry.Age)
			require.Equal(t, "1 of 1", string(claim.Entry.Payload))
		})
	}
	t.Run("any age", func(t *testing.T) {
		t.Parallel()
		b := start(t)
		b.Fill(t, 1)
		b.Advance(1000 * time.Hour)
		require.Equal(t, store.Stale, Claim(t, b.A, store.Terms{Pace: Unpaced.Pace, TTL: moment}).State)
		require.Equal(t, store.Claimed, Claim(t, b.A, Unpaced).State)
	})
}

func testPaceHasItsExactWait(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 5)
	terms := store.Terms{Pace: store.Pace{Every: 5 * time.Second, Burst: 3}}
	post := func() store.Claim {
		claim := Claim(t, b.A, terms)
		if claim.State == store.Claimed {
			require.NoError(t, b.A.Ack(t.Context(), Scope, claim.Entry, store.Receipt{}))
		}
		return claim
	}
	for range 3 {
		require.Equal(t, store.Claimed, post().State)
	}
	require.Equal(t, store.Claim{State: store.Paced, Wait: 5 * time.Second}, post())
	b.Advance(5*time.Second - moment)
	require.Equal(t, store.Claim{State: store.Paced, Wait: moment}, post())
	b.Advance(moment)
	require.Equal(t, store.Claimed, post().State)
	require.Equal(t, store.Claim{State: store.Paced, Wait: 5 * time.Second}, post())
}

func testPauseEndsAtItsInstant(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	require.NoError(t, b.A.Pause(t.Context(), Scope, time.Minute, "by hand"))
	report := b.MustReport(t)
	require.Equal(t, time.Minute, report.PausedFor)
	require.Equal(t, "by hand", report.PauseReason)
	b.Advance(time.Minute - moment)
	require.Equal(t, store.Claim{State: store.Paused, Wait: moment}, Claim(t, b.A, Unpaced))
	require.Equal(t, moment, b.MustReport(t).PausedFor)
	b.Advance(moment)
	report = b.MustReport(t)
	require.Zero(t, report.PausedFor)
	require.Empty(t, report.PauseReason)
	require.Equal(t, store.Claimed, Claim(t, b.A, Unpaced).State)

	require.NoError(t, b.A.Pause(t.Context(), Scope, moment, "by hand"))
	require.Equal(t, moment, b.MustReport(t).PausedFor, "the shortest pause")
	require.NoError(t, b.A.Pause(t.Context(), Scope, 0, ""))
	require.Zero(t, b.MustReport(t).PausedFor)
}

// Where the message and the extra must both wait, the claim returns the shorter wait, whichever comes first.
func testClaimBlockedTwiceWaitsForTheSooner(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		edits time.Duration
		want  store.Claim
	}{
		"the message": {time.Minute, store.Claim{State: store.Paced, Wait: 10 * time.Second}},
		"an instant":  {moment, store.Claim{State: store.Paused, Wait: moment}},
		"equal waits": {10 * time.Second, store.Claim{State: store.Paced, Wait: 10 * time.Second}},
		"the edit":    {2 * time.Second, store.Claim{State: store.Paused, Wait: 2 * time.Second}},
	} {
		for _, isEditFirst := range []bool{true, false} {
			t.Run(fmt.Sprint(name, isEditFirst), func(t *testing.T) {
				t.Parallel()
				b := start(t)
				terms := store.Terms{Pace: store.Pace{Every: 10 * time.Second, Burst: 1}}
				addEdit := func() { require.NoError(t, b.A.Append(t.Context(), Scope, "1", store.KindEdit, []byte("7"))) }
				b.Fill(t, 2)
				if isEditFirst {
					addEdit()
				}
				require.NoError(t, b.A.Ack(t.Context(), Scope, Claim(t, b.A, terms).Entry, store.Receipt{}))
				if !isEditFirst {
					addEdit()
				}
				edit := Claim(t, b.A, terms).Entry
				require.Equal(t, store.KindEdit, edit.Kind)
				require.NoError(t, b.A.Retry(t.Context(), Scope, edit, store.RetryPlan{Waits: store.EditsWait, Wait: row.edits}))
				require.Equal(t, row.want, Claim(t, b.A, terms))
			})
		}
	}
}

func testMessageIsClaimedBeforeAnExtraOfTheSameInstant(t *testing.T, start Start) {
	for name, row := range map[string]struct {
		before time.Duration
		want   string
	}{
		"the same instant": {0, string(store.KindMessage)}, "a moment before": {moment, store.KindNotice},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			require.NoError(t, b.A.Append(t.Context(), Scope, "1", store.KindNotice, []byte("{}")))
			b.Advance(row.before)
			b.Fill(t, 1)
			require.Equal(t, row.want, ClaimEntry(t, b.A).Kind)
		})
	}
}

// Half of a minute's calls may be made at once, and one more every minute divided by their number, rounded up.
func testBudgetHasItsExactWait(t *testing.T, start Start) {
	for perMinute, row := range map[int64]struct {
		atOnce int
		wait   time.Duration
	}{
		1: {1, time.Minute}, 2: {1, 30 * time.Second}, 3: {1, 20 * time.Second}, 4: {2, 15 * time.Second},
		7: {3, 8_571_429 * time.Microsecond},
	} {
		t.Run(fmt.Sprint(perMinute), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			reserve := func() time.Duration {
				reserved, err := b.A.ReserveCalls(t.Context(), "ws", posts(perMinute, 1))
				require.NoError(t, err)
				require.Empty(t, reserved.Reason)
				return reserved.Wait
			}
			for range row.atOnce {
				require.Zero(t, reserve())
			}
			require.Equal(t, row.wait, reserve())
			b.Advance(row.wait - moment)
			require.Equal(t, moment, reserve())
			b.Advance(moment)
			require.Zero(t, reserve())
			require.Equal(t, row.wait, reserve())
		})
	}
}

func testCredentialIsPausedUntilItsInstant(t *testing.T, start Start) {
	b := start(t)
	require.NoError(t, b.A.PauseCredential(t.Context(), "ws", "token_revoked", time.Minute))
	paused := func() (time.Duration, string) {
		wait, reason, err := b.B.CredentialPaused(t.Context(), "ws")
		require.NoError(t, err)
		return wait, reason
	}
	b.Advance(time.Minute - moment)
	wait, reason := paused()
	require.Equal(t, moment, wait)
	require.Equal(t, "token_revoked", reason)
	reserved, err := b.B.ReserveCalls(t.Context(), "ws", posts(60, 1))
	require.NoError(t, err)
	require.Equal(t, moment, reserved.Wait)
	require.Equal(t, "token_revoked", reserved.Reason)
	b.Advance(moment)
	wait, reason = paused()
	require.Zero(t, wait)
	require.Empty(t, reason)
}

func testLeaseEndsAtItsInstant(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	ClaimEntry(t, b.A)
	b.Advance(10*time.Second - moment)
	require.Equal(t, store.Claim{State: store.Leased, Wait: moment}, Claim(t, b.B, Unpaced))
	b.Advance(moment)
	require.Equal(t, store.Claimed, Claim(t, b.B, Unpaced).State)
}

// A delayed message that is still refused waits on, until it has waited for longer than the policy allows.
func testDelayedMessageIsDroppedJustAfterItsDelay(t *testing.T, start Start) {
	for wait, want := range map[time.Duration]store.Outcome{time.Minute: store.Delayed, time.Minute + moment: store.Full} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			h := &store.MessagePolicy{Overflow: "delay", MaxDelayed: 5, MaxDelay: time.Minute, Resolves: "post"}
			l := Limits{Channel: PerMinute(9), Category: ratelimit.Window{Limit: 1, Per: time.Hour}}
			b.AdmitOne(t, l.AlertRequest(h, "1", "c", "", ""))
			waits := l.AlertRequest(h, "2", "c", "", "")
			require.Equal(t, store.Delayed, b.AdmitOne(t, waits).Outcome)
			b.Advance(wait)
			require.Equal(t, want, b.PromoteOne(t, waits, 2).Outcome)
		})
	}
}
