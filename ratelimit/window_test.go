package ratelimit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
)

// burstAndLong are two windows: after a burst the short one is free again, and the long one refuses.
var burstAndLong = []ratelimit.Window{{Limit: 3, Per: time.Second}, {Limit: 5, Per: time.Minute}}

func burstRequest(id string) ratelimit.Request {
	return ratelimit.Request{
		ID: id, Category: "a", Levels: []ratelimit.Level{ratelimit.Outer(scope.Group, burstAndLong...)},
		Enqueue:  &ratelimit.Enqueue{Kind: ratelimit.KindMessage, Payload: []byte("{}")},
		Handling: &ratelimit.Handling{Overflow: ratelimit.OverflowDrop, Resolves: ratelimit.ResolvesPost, Drops: 10},
	}
}

// fillTheLong uses up the long window, while the short one is free.
func fillTheLong(t *testing.T, b bundle) {
	t.Helper()
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		b.advance(time.Second)
		require.Equal(t, ratelimit.Admitted, b.one(t, burstRequest(id)).Outcome)
	}
	b.advance(1500 * time.Millisecond)
}

func TestTheWindowThatRefusesIsNamed(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		fillTheLong(t, b)
		d := b.one(t, burstRequest("6"))
		require.Equal(t, burstAndLong[1], d.Window)
		require.Equal(t, 54500*time.Millisecond, d.RetryAfter)
		drops, err := b.Drops(t.Context(), scope, "", 1)
		require.NoError(t, err)
		require.Equal(t, []int64{5, 5}, []int64{drops[0].Used, drops[0].Limit}, "the record names it too")
		require.Equal(t, d.RetryAfter, drops[0].Retry)

		two := burstRequest("7")
		two.N = 4
		require.Equal(t, burstAndLong[0], b.one(t, two).Window, "what can never fit")
		b.advance(time.Hour)
		for _, id := range []string{"8", "9", "10"} {
			b.one(t, burstRequest(id))
		}
		require.Equal(t, burstAndLong[0], b.one(t, burstRequest("11")).Window)
		b.advance(time.Second)
		require.Equal(t, ratelimit.Window{}, b.one(t, burstRequest("12")).Window)
	})
}

// What the closed-until cache refuses names the same window: in the decision, in the error, and in the record.
func TestTheCacheNamesTheWindowThatRefuses(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		shared := share(t, b.Limiter, ratelimit.SharedOptions{Now: b.now, FoldEvery: time.Hour})
		fillTheLong(t, b)
		for range 2 {
			_, err := shared.Admit(t.Context(), scope, []ratelimit.Request{burstRequest("6")})
			require.NoError(t, err)
		}
		d, err := shared.Admit(t.Context(), scope, []ratelimit.Request{burstRequest("7")})
		require.NoError(t, err)
		require.Equal(t, ratelimit.ByClosedCache, d[0].DecidedBy)
		require.Equal(t, burstAndLong[1], d[0].Window)
		err = ratelimit.Do(t.Context(), shared, scope, burstRequest("8"), func(context.Context) error { return nil })
		require.EqualError(t, err, "limited by channel, 5 per 1m0s: retry after 54.5s")
		drops, err := shared.Drops(t.Context(), scope, "", 10)
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
	onEvery(t, func(t *testing.T, b bundle) {
		for _, channel := range []string{"x", "y"} {
			s := ratelimit.Scope{Channel: channel}
			request := ratelimit.Request{ID: "same", Levels: []ratelimit.Level{
				ratelimit.Outer(channel, perMinute(1)), ratelimit.Inner(s, "category", "a", perMinute(1)),
			}}
			d, err := b.Admit(t.Context(), s, []ratelimit.Request{request})
			require.NoError(t, err)
			require.Equal(t, ratelimit.Admitted, d[0].Outcome)
			request.Levels[0] = ratelimit.Outer("", perMinute(1))
			_, err = b.Admit(t.Context(), s, []ratelimit.Request{request})
			require.ErrorIs(t, err, ratelimit.ErrRequest)
			require.ErrorContains(t, err, `level "channel" has no limit group`)
		}
	})
}
