package storetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/storetest"
)

// burstAndLong are two windows: after a burst the short one is free again, and the long one refuses.
var burstAndLong = []ratelimit.Window{{Limit: 3, Per: time.Second}, {Limit: 5, Per: time.Minute}}

func burstRequest(id string) store.Request {
	return store.Request{
		ID: id, Category: "a", Levels: []ratelimit.Level{store.NewChannelLevel(storetest.Scope.Group, burstAndLong...)},
		Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte("{}")},
		Policy:  &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesPost, KeepDrops: 10},
	}
}

// fillTheLong uses up the long window, while the short one is free.
func fillTheLong(t *testing.T, b storetest.Fixture) {
	t.Helper()
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		b.Advance(time.Second)
		require.Equal(t, store.Admitted, b.AdmitOne(t, burstRequest(id)).Outcome)
	}
	b.Advance(1500 * time.Millisecond)
}

func TestTheWindowThatRefusesIsNamed(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		fillTheLong(t, b)
		d := b.AdmitOne(t, burstRequest("6"))
		require.Equal(t, burstAndLong[1], d.Window)
		require.Equal(t, 54500*time.Millisecond, d.RetryAfter)
		drops, err := b.Drops(t.Context(), storetest.Scope, "", 1)
		require.NoError(t, err)
		require.Equal(t, []int64{5, 5}, []int64{drops[0].Used, drops[0].Limit}, "the record names it too")
		require.Equal(t, d.RetryAfter, drops[0].RetryAfter)

		two := burstRequest("7")
		two.N = 4
		require.Equal(t, burstAndLong[0], b.AdmitOne(t, two).Window, "what can never fit")
		b.Advance(time.Hour)
		for _, id := range []string{"8", "9", "10"} {
			b.AdmitOne(t, burstRequest(id))
		}
		require.Equal(t, burstAndLong[0], b.AdmitOne(t, burstRequest("11")).Window)
		b.Advance(time.Second)
		require.Equal(t, ratelimit.Window{}, b.AdmitOne(t, burstRequest("12")).Window)
	})
}

// What the closed-until cache refuses names the same window: in the decision, in the error, and in the record.
func TestTheCacheNamesTheWindowThatRefuses(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		shared := storetest.Share(t, b.Limiter, replica.Options{Now: b.Now, FoldEvery: time.Hour})
		fillTheLong(t, b)
		for range 2 {
			_, err := shared.Admit(t.Context(), storetest.Scope, []store.Request{burstRequest("6")})
			require.NoError(t, err)
		}
		d, err := shared.Admit(t.Context(), storetest.Scope, []store.Request{burstRequest("7")})
		require.NoError(t, err)
		require.Equal(t, store.ByClosedCache, d[0].DecidedBy)
		require.Equal(t, burstAndLong[1], d[0].Window)
		err = store.Do(t.Context(), shared, storetest.Scope, burstRequest("8"), func(context.Context) error { return nil })
		require.EqualError(t, err, "limited by channel, 5 per 1m0s: retry after 54.5s")
		drops, err := shared.Drops(t.Context(), storetest.Scope, "", 10)
		require.NoError(t, err)
		require.Len(t, drops, 4)
		for _, drop := range drops {
			require.Equal(t, []int64{5, 5}, []int64{drop.Used, drop.Limit})
		}
	})
}

// A scope without a group is one of the channel's own: two of them share nothing, and a level must say whose it is.
func TestAScopeWithoutAGroupHasItsOwn(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		for _, channel := range []string{"x", "y"} {
			s := store.Channel{Name: channel}
			request := store.Request{ID: "same", Levels: []ratelimit.Level{
				store.NewChannelLevel(channel, storetest.PerMinute(1)), store.NewLevel(s, "category", "a", storetest.PerMinute(1)),
			}}
			d, err := b.Admit(t.Context(), s, []store.Request{request})
			require.NoError(t, err)
			require.Equal(t, store.Admitted, d[0].Outcome)
			request.Levels[0] = store.NewChannelLevel("", storetest.PerMinute(1))
			_, err = b.Admit(t.Context(), s, []store.Request{request})
			require.ErrorIs(t, err, store.ErrRequest)
			require.ErrorContains(t, err, `level "channel" has no limit group`)
		}
	})
}
