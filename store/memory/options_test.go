package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	"slackrelay/store/storetest"
)

// Senders without a common store share a pace and a budget: each uses its part of them.
func TestSendersWithoutACommonStoreSharePaceAndBudget(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		divisor func() int64
		share   int
	}{
		"alone":       {nil, 1},
		"of no other": {func() int64 { return 0 }, 1},
		"of three":    {func() int64 { return 3 }, 3},
	} {
		share := time.Duration(row.share) * time.Second
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &storetest.Clock{T: storetest.StartTime}
			s := memory.New(memory.NewData(memory.DataOptions{Now: clock.Now}), memory.Options{PaceDivisor: row.divisor})
			b := storetest.Fixture{Limiter: s, A: s, C: s}
			b.Fill(t, 2)
			paced := store.Terms{Pace: store.Pace{Every: time.Second, Burst: 1}}
			require.NoError(t, s.Ack(t.Context(), storetest.Scope, storetest.Claim(t, s, paced).Entry, store.Receipt{}))
			require.Equal(t, share, storetest.Claim(t, s, paced).Wait)
			one := store.Calls{Method: store.MethodPost, PerMinute: 60, N: 1}
			for range 60 / row.share / 2 {
				reserved, err := s.ReserveCalls(t.Context(), "ws", one)
				require.NoError(t, err)
				require.Zero(t, reserved.Wait)
			}
			reserved, err := s.ReserveCalls(t.Context(), "ws", one)
			require.NoError(t, err)
			require.Equal(t, share, reserved.Wait)
		})
	}
}

func TestStoreInMemoryHasNoMemoryOfAServer(t *testing.T) {
	t.Parallel()
	used, most, err := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}).Memory(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Zero(t, used)
	require.Zero(t, most)
}

// What a replica carries over counts from the time that it names, for as long as its window says.
func TestSeededUnitsLeaveTheirWindow(t *testing.T) {
	t.Parallel()
	clock := &storetest.Clock{T: storetest.StartTime}
	s := memory.New(memory.NewData(memory.DataOptions{Now: clock.Now}), memory.Options{})
	b := storetest.Fixture{Limiter: s, Clock: clock.Now, Advance: clock.Advance}
	level := storetest.ChannelLevel(storetest.Scope.Group, ratelimit.Window{Limit: 9, Per: time.Hour})
	s.Seed(level, 4, 10*time.Minute)
	b.Advance(50*time.Minute - time.Microsecond)
	require.Equal(t, int64(4), b.UsedOf(t, level))
	b.Advance(time.Microsecond)
	require.Zero(t, b.UsedOf(t, level))
	s.Seed(level, 4, 0)
	b.Advance(time.Hour - time.Microsecond)
	require.Equal(t, int64(4), b.UsedOf(t, level))
}

func TestForgottenChannelHasNoCountsOfTheLast24Hours(t *testing.T) {
	t.Parallel()
	clock := &storetest.Clock{T: storetest.StartTime}
	s := memory.New(memory.NewData(memory.DataOptions{Now: clock.Now}), memory.Options{})
	b := storetest.Fixture{Limiter: s, Clock: clock.Now, Advance: clock.Advance}
	for i := range store.SeriesHours {
		b.MustAdmit(t, storetest.Small.Request(fmt.Sprint(i), "c"))
		b.Advance(time.Hour)
	}
	b.Advance(-time.Hour)
	s.Forget(storetest.Scope, nil)
	all, err := s.Categories(t.Context(), storetest.Scope)
	require.NoError(t, err)
	require.Empty(t, all)
	require.Zero(t, b.MustReport(t).Ledger.Received)
}

// Only what becomes an entry has a number.
func TestOnlyEntriesHaveNumbers(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	policy := &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesPost}
	var requests []store.Request
	for i, bundle := range []string{"", "webhook", "webhook"} {
		r := storetest.Small.AlertRequest(policy, fmt.Sprint(i), "c", store.Firing, fmt.Sprint(i))
		r.Event.Bundle = bundle
		requests = append(requests, r)
	}
	answer, err := s.Admit(t.Context(), storetest.Scope, requests)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 0}, answer.Numbers)
}
