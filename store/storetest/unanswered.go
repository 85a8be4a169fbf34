package storetest

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var unansweredBehaviours = []behaviour{
	{"UnansweredClaimWasNotSent", testUnansweredClaimWasNotSent},
	{"LookAfterAnUnansweredClaimFindsIt", testLookAfterAnUnansweredClaimFindsIt},
	{"UnansweredClaimOfAnotherMayHaveBeenSent", testUnansweredClaimOfAnotherMayHaveBeenSent},
	{"EarlierUnknownAttemptStays", testEarlierUnknownAttemptStays},
}

// unanswered is the context of a call that is carried out, but whose reply does not arrive: it ends meanwhile. Err is nil when
// a store checks it before the call, and an error afterwards.
type unanswered struct {
	context.Context
	asked bool
}

// Err implements [context.Context].
func (u *unanswered) Err() error {
	if !u.asked {
		u.asked = true
		return nil
	}
	return context.DeadlineExceeded
}

// lossy loses the reply to a call with such a context.
type lossy struct{ redis.Scripter }

// Eval implements [redis.Scripter].
func (l lossy) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	late, ok := ctx.(*unanswered)
	if !ok {
		return l.Scripter.Eval(ctx, script, keys, args...)
	}
	cmd := l.Scripter.Eval(late.Context, script, keys, args...)
	if cmd.Err() == nil {
		cmd.SetErr(io.ErrUnexpectedEOF)
	}
	return cmd
}

// lose claims for a sender, which gets no reply.
func lose(t *testing.T, o store.Queue) {
	t.Helper()
	_, err := o.Claim(&unanswered{Context: t.Context()}, Scope, Lookable, false)
	require.Error(t, err)
}

// A sender knows that it never sent what an unanswered claim of its own took: the attempt is not unknown.
func testUnansweredClaimWasNotSent(t *testing.T, start Start) {
	for name, lost := range map[string]int{"one": 1, "three in a row": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.Fill(t, 1)
			for range lost {
				lose(t, b.A)
			}
			c := Claim(t, b.A, Lookable)
			require.Equal(t, store.Claimed, c.State, "at once")
			require.True(t, c.Entry.UnknownSince.IsZero(), "at once")
			require.NoError(t, b.A.Ack(t.Context(), Scope, c.Entry, store.Receipt{}))
			require.Equal(t, store.Empty, Claim(t, b.A, Lookable).State)
		})
	}
}

func testLookAfterAnUnansweredClaimFindsIt(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	lose(t, b.A)
	look, err := b.A.Claim(t.Context(), Scope, Lookable, true)
	require.NoError(t, err)
	require.Equal(t, store.PostReady, look.State)
}

// To every other sender, it may have been sent.
func testUnansweredClaimOfAnotherMayHaveBeenSent(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	lose(t, b.A)
	require.Equal(t, store.Leased, Claim(t, b.B, Lookable).State)
	b.Advance(10 * time.Second)
	left := Claim(t, b.B, Lookable)
	require.Equal(t, store.Claimed, left.State)
	require.Equal(t, StartTime, left.Entry.UnknownSince)
	require.NoError(t, b.B.Retry(t.Context(), Scope, left.Entry, store.RetryPlan{State: store.MaybePosted}))
	again := Claim(t, b.A, Lookable)
	require.Equal(t, store.Claimed, again.State, "the other may have sent it since")
	require.Equal(t, StartTime, again.Entry.UnknownSince, "the other may have sent it since")
}

// The attempt of an answered claim stays unknown, whatever unanswered claims follow.
func testEarlierUnknownAttemptStays(t *testing.T, start Start) {
	b := start(t)
	b.Fill(t, 1)
	lose(t, b.A)
	tried := Claim(t, b.A, Lookable).Entry
	lose(t, b.A)
	require.Equal(t, store.AwaitingLookup, Claim(t, b.A, Lookable).State)
	require.NoError(t, b.A.Retry(t.Context(), Scope, tried, store.RetryPlan{State: store.MaybePosted}))
	b.Advance(10 * time.Second)
	lose(t, b.A)
	again := Claim(t, b.A, Lookable).Entry
	require.Equal(t, StartTime, again.UnknownSince)
	for range 2 {
		require.NoError(t, b.A.Retry(t.Context(), Scope, again, store.RetryPlan{State: store.NotFound}))
		b.Advance(time.Minute)
		again = Claim(t, b.A, Lookable).Entry
	}
	require.NoError(t, b.A.Retry(t.Context(), Scope, again, store.RetryPlan{State: store.SendAgain}))
	lose(t, b.A)
	last := Claim(t, b.A, Lookable)
	require.Equal(t, store.Claimed, last.State, "it is still to be sent once more")
	require.True(t, last.Entry.UnknownSince.IsZero(), "it is still to be sent once more")
	require.NoError(t, b.A.Retry(t.Context(), Scope, last.Entry, store.RetryPlan{State: store.MaybePosted}))
	b.Advance(time.Minute)
	require.Equal(t, StartTime, Claim(t, b.A, Lookable).Entry.UnknownSince, "from the first attempt on")
}
