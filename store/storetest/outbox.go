package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var outboxBehaviours = []behaviour{
	{"MessagesAreClaimedInOrder", testMessagesAreClaimedInOrder},
	{"PaceHoldsOverAllSenders", testPaceHoldsOverAllSenders},
	{"InvalidPaceIsRejected", testInvalidPaceIsRejected},
	{"BacklogShrinksAsEntriesAreSettled", testBacklogShrinksAsEntriesAreSettled},
	{"SettledEntryLeavesTheBacklogWithAllItsUnits", testSettledEntryLeavesTheBacklogWithAllItsUnits},
	{"AgeIsThatOfTheAdmission", testAgeIsThatOfTheAdmission},
}

func testMessagesAreClaimedInOrder(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 12)
	for i := range 12 {
		entry := ClaimEntry(t, b.A)
		require.Equal(t, fmt.Sprintf("%d of 12", i+1), string(entry.Payload))
		require.Equal(t, "message", entry.Kind)
		require.NoError(t, b.A.Ack(t.Context(), Scope, entry, store.Receipt{}))
	}
	require.Equal(t, store.Empty, Claim(t, b.A, Unpaced).State)
	require.Equal(t, store.Ledger{Received: 12, Admitted: 12, Delivered: 12}, b.BalancedReport(t).Ledger)
}

func testPaceHoldsOverAllSenders(t *testing.T, start Start) {
	pace := store.Terms{Pace: store.Pace{Every: time.Second, Burst: 3}}
	b := start(t)
	b.Fill(t, 10)
	send := func(o store.Queue) {
		c := Claim(t, o, pace)
		require.Equal(t, store.Claimed, c.State)
		require.NoError(t, o.Ack(t.Context(), Scope, c.Entry, store.Receipt{}))
		require.NoError(t, o.Release(t.Context(), Scope))
	}
	send(b.A)
	send(b.B) // the pace is one over all senders
	send(b.A)
	for _, o := range []store.Queue{b.A, b.B} {
		paced := Claim(t, o, pace)
		require.Equal(t, store.Paced, paced.State)
		require.Equal(t, time.Second, paced.Wait)
	}
	b.Advance(time.Second)
	send(b.B)
	require.Equal(t, store.Paced, Claim(t, b.A, pace).State)
	b.Advance(time.Minute) // a burst is never more than 3
	for range 3 {
		send(b.A)
	}
	require.Equal(t, store.Paced, Claim(t, b.A, pace).State)
}

func testInvalidPaceIsRejected(t *testing.T, start Start) {
	b := start(t)
	for _, pace := range []store.Pace{{Every: -1 * time.Second, Burst: 1}, {Every: 1, Burst: 0}} {
		t.Run(fmt.Sprint(pace), func(t *testing.T) {
			_, err := b.A.Claim(t.Context(), Scope, store.Terms{Pace: pace}, false)
			require.ErrorContains(t, err, "pace of 0 or more and burst of 1 or more")
		})
	}
}

// A level of the strategy backlog admits only as entries are settled.
func testBacklogShrinksAsEntriesAreSettled(t *testing.T, start Start) {
	for _, queue := range []ratelimit.Queue{ratelimit.Stream, ratelimit.List} {
		t.Run(string(queue), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := store.LevelOf(ratelimit.LevelSpec{
				Name: "channel", Strategy: ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: queue},
				Windows: []ratelimit.Window{{Limit: 3, Per: time.Second}},
			}, Scope, "")
			require.Contains(t, level.Key, "backlog-"+string(queue), "scripts know by its key what it is")
			terms := Unpaced
			terms.Backlog = level.Key
			next := 0
			admit := func() bool {
				next++
				answer, err := b.Admit(t.Context(), Scope, []store.Request{{
					Request: ratelimit.Request{ID: fmt.Sprint(next), Levels: []ratelimit.Level{level}},
					Enqueue: &store.Enqueue{Kind: store.KindMessage},
				}})
				require.NoError(t, err)
				return answer.Decisions[0].Outcome == store.Admitted
			}
			require.True(t, admit())
			require.True(t, admit())
			require.True(t, admit())
			require.False(t, admit())
			b.Advance(time.Hour)
			require.False(t, admit(), "time alone changes nothing")
			require.NoError(t, b.A.Ack(t.Context(), Scope, Claim(t, b.A, terms).Entry, store.Receipt{}))
			require.NoError(t, b.A.Bury(t.Context(), Scope, Claim(t, b.A, terms).Entry, store.DeadReason{Reason: "x"}))
			require.True(t, admit())
			require.True(t, admit())
			require.False(t, admit())
		})
	}
}

// backlogOf is a channel level with the strategy backlog.
func backlogOf(queue ratelimit.Queue, limit int64) ratelimit.Level {
	return channelLevel(ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: queue}, ratelimit.Window{Limit: limit, Per: time.Second})
}

func testSettledEntryLeavesTheBacklogWithAllItsUnits(t *testing.T, start Start) {
	for _, queue := range []ratelimit.Queue{ratelimit.Stream, ratelimit.List} {
		t.Run(string(queue), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			level := backlogOf(queue, 9)
			for _, id := range []string{"1", "2", "3"} {
				r := atLevel(level, id, 3)
				r.Enqueue = &store.Enqueue{Kind: store.KindMessage, Payload: []byte(id)}
				b.MustAdmit(t, r)
			}
			terms := Unpaced
			terms.Backlog = level.Key
			require.NoError(t, b.A.Ack(t.Context(), Scope, Claim(t, b.A, terms).Entry, store.Receipt{}))
			require.Equal(t, int64(6), b.Used(t, level))
			require.NoError(t, b.A.Expire(t.Context(), Scope, Claim(t, b.A, terms).Entry, nil))
			require.Equal(t, int64(3), b.Used(t, level))
		})
	}
}

// An entry that is claimed at once, or after the clock went back, has no age.
func testAgeIsThatOfTheAdmission(t *testing.T, start Start) {
	for name, row := range map[string]struct{ step, age time.Duration }{
		"at once": {0, 0}, "later": {time.Second, time.Second}, "after a step back": {-time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.Fill(t, 1)
			b.Advance(row.step)
			require.Equal(t, row.age, ClaimEntry(t, b.A).Age)
		})
	}
}
