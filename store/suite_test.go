package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is one engine under test: two senders of one channel, what admits into it, and a clock.
type bundle struct {
	a, b    store.Outbox
	many    store.Outbox // that keeps as many dead letters as it does by itself
	limiter store.Limiter
	advance func(time.Duration)
	data    data
}

var (
	start    = time.UnixMicro(1_795_156_875_342_811)
	channel  = store.Channel{Group: "alerts", Name: "alerts"}
	scope    = store.Channel{Group: "alerts", Name: "alerts"}
	unpaced  = store.Terms{Pace: store.Pace{Burst: 1}}
	ownedByA = store.Options{Owner: "a", DeadLetters: 2}
	ownedByB = store.Options{Owner: "b", DeadLetters: 2}
)

var engines = map[string]func(t testing.TB) bundle{
	"memory": func(testing.TB) bundle { return memoryBundle() },
	"redis": func(tb testing.TB) bundle {
		tb.Helper()
		return redisBundle(tb, redistest.Start(tb).Client())
	},
}

func memoryBundle() bundle {
	now := start
	data := memory.NewData(memory.DataOptions{Now: func() time.Time { return now }})
	return bundle{
		a: memory.New(data, memory.Options{Options: ownedByA}), b: memory.New(data, memory.Options{Options: ownedByB}),
		many:    memory.New(data, memory.Options{Options: store.Options{Owner: "c"}}),
		limiter: memory.New(data, memory.Options{}),
		advance: func(d time.Duration) { now = now.Add(d) },
		data:    memoryData{data},
	}
}

func redisBundle(tb testing.TB, client *redis.Client) bundle {
	tb.Helper()
	clocked := redistest.NewClocked(tb, client, start)
	return bundle{
		a: redisstore.New(lossy{clocked}, redisstore.Options{Options: ownedByA}), b: redisstore.New(lossy{clocked}, redisstore.Options{Options: ownedByB}),
		many:    redisstore.New(clocked, redisstore.Options{Options: store.Options{Owner: "c"}}),
		limiter: redisstore.New(clocked, redisstore.Options{Now: clocked.Now}),
		advance: clocked.Advance,
		data:    redisData{clocked.Client},
	}
}

func onEvery(t *testing.T, behaviour func(t *testing.T, b bundle)) {
	t.Helper()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, engine(t))
		})
	}
}

// fill admits n events with the payloads "1 of n", "2 of n", ...
func (b bundle) fill(t *testing.T, n int) {
	t.Helper()
	var requests []store.Request
	for i := range n {
		requests = append(requests, store.Request{
			ID:      fmt.Sprint(i),
			Levels:  []ratelimit.Level{store.NewChannelLevel("alerts", ratelimit.Window{Limit: 1000, Per: time.Hour})},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: fmt.Appendf(nil, "%d of %d", i+1, n)},
		})
	}
	_, err := b.limiter.Admit(t.Context(), scope, requests)
	require.NoError(t, err)
}

func (b bundle) report(t *testing.T) store.Report {
	t.Helper()
	report, err := b.limiter.Report(t.Context(), scope)
	require.NoError(t, err)
	require.Zero(t, report.Ledger.Imbalance())
	return report
}

func claim(t *testing.T, o store.Outbox, terms store.Terms) store.Claim {
	t.Helper()
	c, err := o.Claim(t.Context(), channel, terms, false)
	require.NoError(t, err)
	return c
}

func claimed(t *testing.T, o store.Outbox) store.Entry {
	t.Helper()
	c := claim(t, o, unpaced)
	require.Equal(t, store.Claimed, c.State)
	return c.Entry
}

func TestOrderAndAck(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 12)
		for i := range 12 {
			entry := claimed(t, b.a)
			require.Equal(t, fmt.Sprintf("%d of 12", i+1), string(entry.Payload))
			require.Equal(t, "message", entry.Kind)
			require.NoError(t, b.a.Ack(t.Context(), channel, entry, store.Receipt{}))
		}
		require.Equal(t, store.Empty, claim(t, b.a, unpaced).State)
		require.Equal(t, store.Ledger{Received: 12, Admitted: 12, Delivered: 12}, b.report(t).Ledger)
	})
}

func TestOneSenderAtATime(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 2)
		require.Equal(t, "1 of 2", string(claimed(t, b.a).Payload))
		b.advance(4 * time.Second)
		held := claim(t, b.b, unpaced)
		require.Equal(t, store.Leased, held.State)
		require.Equal(t, 6*time.Second, held.Wait)
		require.Equal(t, int64(2), b.report(t).Ledger.Pending)
	})
}

func TestWhatAKilledSenderHeldGoesToAnother(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		claimed(t, b.a)
		b.advance(10 * time.Second)
		entry := claimed(t, b.b)
		require.Equal(t, "1 of 1", string(entry.Payload))
		require.Equal(t, int64(1), entry.Attempts)
		require.Equal(t, 10*time.Second, entry.Age)
	})
}

func TestSettlingIsFenced(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		entry := claimed(t, b.a)
		b.advance(10 * time.Second)
		claimed(t, b.b)
		require.ErrorIs(t, b.a.Ack(t.Context(), channel, entry, store.Receipt{}), store.ErrLeaseLost)
		require.ErrorIs(t, b.a.Retry(t.Context(), channel, entry, store.RetryPlan{Wait: time.Hour}), store.ErrLeaseLost)
		require.ErrorIs(t, b.a.Bury(t.Context(), channel, entry, store.DeadReason{}), store.ErrLeaseLost)
		require.NoError(t, b.a.Release(t.Context(), channel))
		require.Equal(t, int64(1), b.report(t).Ledger.Pending)
		require.Equal(t, store.Leased, claim(t, b.a, unpaced).State, "release gave up nobody else's lease")
		require.NoError(t, b.b.Ack(t.Context(), channel, entry, store.Receipt{}))
	})
}

func TestALateAckCountsWhenNobodyElseTookOver(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		entry := claimed(t, b.a)
		b.advance(time.Minute)
		require.NoError(t, b.a.Ack(t.Context(), channel, entry, store.Receipt{}))
		require.NoError(t, b.a.Ack(t.Context(), channel, entry, store.Receipt{}), "a repeat is harmless")
		require.NoError(t, b.a.Bury(t.Context(), channel, entry, store.DeadReason{}), "so is a late burial")
		require.Equal(t, store.Ledger{Received: 1, Admitted: 1, Delivered: 1}, b.report(t).Ledger)
	})
}

func TestReleaseLetsAnotherGoOn(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		claimed(t, b.a)
		require.NoError(t, b.a.Release(t.Context(), channel))
		claimed(t, b.b)
	})
}

func TestAnEmptyOutboxGivesUpTheLease(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		require.NoError(t, b.a.Ack(t.Context(), channel, claimed(t, b.a), store.Receipt{}))
		require.Equal(t, store.Empty, claim(t, b.a, unpaced).State)
		_, err := b.limiter.Admit(t.Context(), scope, []store.Request{{
			ID: "next", Levels: []ratelimit.Level{store.NewChannelLevel("alerts", ratelimit.Window{Limit: 9, Per: time.Hour})},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte("next")},
		}})
		require.NoError(t, err)
		require.Equal(t, "next", string(claimed(t, b.b).Payload), "at once, not when the lease ends")
	})
}

func TestRetryPausesEverySender(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 2)
		entry := claimed(t, b.a)
		require.NoError(t, b.a.Retry(t.Context(), channel, entry, store.RetryPlan{Wait: 30 * time.Second, Reason: "rate_limited"}))
		for _, o := range []store.Outbox{b.a, b.b} {
			paused := claim(t, o, unpaced)
			require.Equal(t, store.Paused, paused.State)
			require.Equal(t, 30*time.Second, paused.Wait)
		}
		report := b.report(t)
		require.Equal(t, 30*time.Second, report.PausedFor)
		require.Equal(t, "rate_limited", report.PauseReason)

		b.advance(30 * time.Second)
		again := claimed(t, b.b)
		require.Equal(t, "1 of 2", string(again.Payload), "the order is kept")
		require.Equal(t, []int64{1, 0}, []int64{again.Attempts, again.Faults})
		require.Equal(t, time.Duration(0), b.report(t).PausedFor)
	})
}

func TestAPauseIsOnlyMadeLonger(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		entry := claimed(t, b.a)
		require.NoError(t, b.a.Retry(t.Context(), channel, entry, store.RetryPlan{Wait: time.Minute, Reason: "long"}))
		require.NoError(t, b.a.Retry(t.Context(), channel, entry, store.RetryPlan{Wait: time.Second, Reason: "short"}))
		require.Equal(t, "long", b.report(t).PauseReason)
		require.NoError(t, b.a.Retry(t.Context(), channel, store.Entry{Number: 4711}, store.RetryPlan{Wait: time.Hour, Reason: "gone"}))
		require.Equal(t, time.Minute, b.report(t).PausedFor, "an entry that is gone pauses nothing")
	})
}

func TestFaultsAreCounted(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		for i := range 3 {
			entry := claimed(t, b.a)
			require.Equal(t, []int64{int64(i), int64(i)}, []int64{entry.Attempts, entry.Faults})
			require.NoError(t, b.a.Retry(t.Context(), channel, entry, store.RetryPlan{Fault: true}))
		}
	})
}

func TestBury(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 4)
		for range 3 { // more than are kept
			entry := claimed(t, b.a)
			require.NoError(t, b.a.Bury(t.Context(), channel, entry, store.DeadReason{Reason: "channel_not_found", Answer: "no"}))
		}
		require.Equal(t, "4 of 4", string(claimed(t, b.a).Payload))
		require.Equal(t, store.Ledger{Received: 4, Admitted: 4, Failed: 3, Pending: 1}, b.report(t).Ledger)
	})
}

func TestPace(t *testing.T) {
	t.Parallel()
	pace := store.Terms{Pace: store.Pace{Every: time.Second, Burst: 3}}
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 10)
		send := func(o store.Outbox) {
			c := claim(t, o, pace)
			require.Equal(t, store.Claimed, c.State)
			require.NoError(t, o.Ack(t.Context(), channel, c.Entry, store.Receipt{}))
			require.NoError(t, o.Release(t.Context(), channel))
		}
		send(b.a)
		send(b.b) // the pace is one over all senders
		send(b.a)
		for _, o := range []store.Outbox{b.a, b.b} {
			paced := claim(t, o, pace)
			require.Equal(t, store.Paced, paced.State)
			require.Equal(t, time.Second, paced.Wait)
		}
		b.advance(time.Second)
		send(b.b)
		require.Equal(t, store.Paced, claim(t, b.a, pace).State)
		b.advance(time.Minute) // a burst is never more than 3
		for range 3 {
			send(b.a)
		}
		require.Equal(t, store.Paced, claim(t, b.a, pace).State)
	})
}

func TestAClaimSaysWhenItsLeaseEnds(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		before := time.Now()
		c := claim(t, b.a, unpaced)
		require.WithinRange(t, c.Until, before.Add(10*time.Second), time.Now().Add(10*time.Second))
	})
}

func TestAPaceThatMakesNoSense(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		for _, pace := range []store.Pace{{Every: -1 * time.Second, Burst: 1}, {Every: 1, Burst: 0}} {
			_, err := b.a.Claim(t.Context(), channel, store.Terms{Pace: pace}, false)
			require.ErrorContains(t, err, "pace of 0 or more and burst of 1 or more")
		}
	})
}

// A level of the strategy backlog admits as fast as entries are settled.
func TestABacklogShrinksAsEntriesAreSettled(t *testing.T) {
	t.Parallel()
	for _, queue := range []ratelimit.Queue{ratelimit.Stream, ratelimit.List} {
		t.Run(string(queue), func(t *testing.T) {
			t.Parallel()
			onEvery(t, func(t *testing.T, b bundle) {
				level := store.LevelOf(ratelimit.LevelSpec{
					Name: "channel", Strategy: ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: queue},
					Windows: []ratelimit.Window{{Limit: 3, Per: time.Second}},
				}, scope, "")
				terms := unpaced
				terms.Backlog = level.Key
				next := 0
				admit := func() bool {
					next++
					d, err := b.limiter.Admit(t.Context(), scope, []store.Request{{
						ID: fmt.Sprint(next), Levels: []ratelimit.Level{level}, Enqueue: &store.Enqueue{Kind: store.KindMessage},
					}})
					require.NoError(t, err)
					return d[0].Outcome == store.Admitted
				}
				require.Equal(t, []bool{true, true, true, false}, []bool{admit(), admit(), admit(), admit()})
				b.advance(time.Hour)
				require.False(t, admit(), "time alone changes nothing")
				require.NoError(t, b.a.Ack(t.Context(), channel, claim(t, b.a, terms).Entry, store.Receipt{}))
				require.NoError(t, b.a.Bury(t.Context(), channel, claim(t, b.a, terms).Entry, store.DeadReason{Reason: "x"}))
				require.Equal(t, []bool{true, true, false}, []bool{admit(), admit(), admit()})
			})
		})
	}
}

func TestHoldStopsAChannelUntilItIsLetGo(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		require.NoError(t, b.a.Pause(t.Context(), channel, time.Hour, "by hand"))
		held := claim(t, b.b, unpaced)
		require.Equal(t, []any{store.Paused, time.Hour}, []any{held.State, held.Wait})
		report := b.report(t)
		require.Equal(t, []any{time.Hour, "by hand"}, []any{report.PausedFor, report.PauseReason})
		require.NoError(t, b.b.Pause(t.Context(), channel, time.Minute, "shorter"))
		require.Equal(t, time.Minute, claim(t, b.a, unpaced).Wait, "the last word counts")
		require.NoError(t, b.a.Pause(t.Context(), channel, 0, ""))
		claimed(t, b.a)
		require.NoError(t, b.a.Pause(t.Context(), channel, time.Minute, "again"))
		b.advance(time.Minute)
		claimed(t, b.a)
	})
}
