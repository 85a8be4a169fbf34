package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	"slackrelay/store/storetest"
)

// What is taken back contains the state of each message: where it is in Slack, why it is dead, and what is not known.
func TestTakeBackReturnsTheResultOfEachMessage(t *testing.T) {
	t.Parallel()
	now := storetest.StartTime
	data := memory.NewData(memory.DataOptions{Now: func() time.Time { return now }})
	box := memory.New(data, memory.Options{Options: store.Options{Owner: "a", DeadLetters: 7}, KeepResults: true})
	limiter := memory.New(data, memory.Options{})
	for i := range 6 {
		r := store.Request{
			Request: ratelimit.Request{
				ID:       fmt.Sprint(i),
				Category: "c",
				Levels:   []ratelimit.Level{storetest.ChannelLevel("alerts", ratelimit.Window{Limit: 9, Per: time.Minute})},
			},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte("{}")},
		}
		_, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{r})
		require.NoError(t, err)
	}
	require.NoError(t, box.Append(t.Context(), storetest.Scope, "notice", store.KindNotice, []byte("{}")))
	terms := store.Terms{Pace: store.Pace{Burst: 1}}
	claim := func() store.Entry {
		claim, err := box.Claim(t.Context(), storetest.Scope, terms, false)
		require.NoError(t, err)
		require.Equal(t, store.Claimed, claim.State)
		return claim.Entry
	}
	now = now.Add(time.Second)
	require.NoError(t, box.Ack(t.Context(), storetest.Scope, claim(), store.Receipt{Channel: "C1", TS: "1.1"}))
	unknown := store.DeadReason{Reason: "unknown", Answer: "who knows", MaybePosted: true}
	require.NoError(t, box.Bury(t.Context(), storetest.Scope, claim(), unknown))
	require.NoError(t, box.Expire(t.Context(), storetest.Scope, claim(), nil))
	doubted := claim()
	require.NoError(t, box.Retry(t.Context(), storetest.Scope, doubted, store.RetryPlan{State: store.MaybePosted, Fault: true}))
	now = now.Add(2 * time.Second)

	pasts, err := box.TakeBack(t.Context(), storetest.Scope)
	require.NoError(t, err)
	const second = 1_000_000
	require.Equal(t, map[int64]store.OutageResult{
		1: {Age: 3 * second, Result: "delivered", Channel: "C1", TS: "1.1"},
		2: {Age: 3 * second, Result: "failed", Reason: "unknown", Answer: "who knows", Attempts: 1, MaybePosted: true, KeepDeadLetters: 7},
		3: {Age: 3 * second, Result: "expired"},
		4: {
			Age: 3 * second, Attempts: 1, Faults: 1, FirstAttempt: 2 * second, LastAttempt: 2 * second,
			Name: fmt.Sprintf("4@%d", storetest.StartTime.UnixMicro()),
		},
		5: {Age: 3 * second},
		6: {Age: 3 * second},
	}, pasts)
	pasts, err = box.TakeBack(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Empty(t, pasts, "once")
	letters, err := box.DeadLetters(t.Context(), storetest.Scope, "", 10)
	require.NoError(t, err)
	require.Empty(t, letters)

	box.Resume(storetest.Scope)
	require.NoError(t, box.Bury(t.Context(), storetest.Scope, claim(), store.DeadReason{Reason: "is_archived"}))
	pasts, err = box.TakeBack(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Empty(t, pasts, "a notice was never admitted")
	letters, err = box.DeadLetters(t.Context(), storetest.Scope, "", 10)
	require.NoError(t, err)
	require.Len(t, letters, 1, "so that its dead letter stays")
}

// A message is waited for until its lease ends. What was tried at that instant may have been posted.
func TestTakeBackWaitsUntilTheLeaseEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		after, lease time.Duration
		isTaken      bool
	}{
		"in flight":    {10*time.Second - time.Microsecond, 10 * time.Second, false},
		"at its end":   {10 * time.Second, 10 * time.Second, true},
		"claimed then": {0, time.Nanosecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &storetest.Clock{T: storetest.StartTime}
			s := memory.New(memory.NewData(memory.DataOptions{Now: clock.Now}), memory.Options{Options: store.Options{Lease: row.lease}})
			b := storetest.Fixture{Limiter: s, C: s}
			b.Fill(t, 1)
			require.Equal(t, store.Claimed, storetest.Claim(t, s, storetest.Unpaced).State)
			clock.Advance(row.after)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			results, err := s.TakeBack(ended, storetest.Scope)
			if !row.isTaken {
				require.ErrorIs(t, err, context.Canceled)
				return
			}
			require.NoError(t, err)
			require.Equal(t, max(1, row.after.Microseconds()), results[1].FirstAttempt)
			require.Equal(t, max(1, row.after.Microseconds()), results[1].LastAttempt)
		})
	}
}
