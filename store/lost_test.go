package store_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

// unanswered is the context of a call that is carried out, and of which no answer comes: it ends meanwhile.
type unanswered struct {
	context.Context
	asked bool
}

func (u *unanswered) Err() error {
	if !u.asked {
		u.asked = true
		return nil
	}
	return context.DeadlineExceeded
}

// lossy loses the answer of a call that has such a context.
type lossy struct{ redis.Scripter }

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

// lose has a sender claim, and lets it have no answer.
func lose(t *testing.T, o store.Outbox) {
	t.Helper()
	_, err := o.Claim(&unanswered{Context: t.Context()}, channel, lookable, false)
	require.Error(t, err)
}

// A claim of which no answer came was never sent, and its sender knows it: the message is not in doubt.
func TestAClaimWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for says, lost := range map[string]int{"one": 1, "three in a row": 3} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			onEvery(t, func(t *testing.T, b bundle) {
				b.fill(t, 1)
				for range lost {
					lose(t, b.a)
				}
				c := claim(t, b.a, lookable)
				require.Equal(t, []any{store.Claimed, true}, []any{c.State, c.Entry.UnknownSince.IsZero()}, "at once")
				require.NoError(t, b.a.Ack(t.Context(), channel, c.Entry, store.Receipt{}))
				require.Equal(t, store.Empty, claim(t, b.a, lookable).State)
			})
		})
	}
}

// A look sees it too.
func TestALookAfterAClaimWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		lose(t, b.a)
		look, err := b.a.Claim(t.Context(), channel, lookable, true)
		require.NoError(t, err)
		require.Equal(t, store.PostReady, look.State)
	})
}

// To everybody else it may have been sent.
func TestAClaimOfAnotherWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		lose(t, b.a)
		require.Equal(t, store.Leased, claim(t, b.b, lookable).State)
		b.advance(10 * time.Second)
		left := claim(t, b.b, lookable)
		require.Equal(t, []any{store.Claimed, start}, []any{left.State, left.Entry.UnknownSince})
		require.NoError(t, b.b.Retry(t.Context(), channel, left.Entry, store.RetryPlan{State: store.MaybePosted}))
		again := claim(t, b.a, lookable)
		require.Equal(t, []any{store.Claimed, start}, []any{again.State, again.Entry.UnknownSince}, "the other may have sent it since")
	})
}

// An attempt that was answered is in doubt, whatever claims came after it without an answer.
func TestAnEarlierDoubtStays(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		b.fill(t, 1)
		lose(t, b.a)
		tried := claim(t, b.a, lookable).Entry
		lose(t, b.a)
		require.Equal(t, store.AwaitingLookup, claim(t, b.a, lookable).State)
		require.NoError(t, b.a.Retry(t.Context(), channel, tried, store.RetryPlan{State: store.MaybePosted}))
		b.advance(10 * time.Second)
		lose(t, b.a)
		again := claim(t, b.a, lookable).Entry
		require.Equal(t, start, again.UnknownSince)
		for range 2 {
			require.NoError(t, b.a.Retry(t.Context(), channel, again, store.RetryPlan{State: store.NotFound}))
			b.advance(time.Minute)
			again = claim(t, b.a, lookable).Entry
		}
		require.NoError(t, b.a.Retry(t.Context(), channel, again, store.RetryPlan{State: store.SendAgain}))
		lose(t, b.a)
		last := claim(t, b.a, lookable)
		require.Equal(t, []any{store.Claimed, true}, []any{last.State, last.Entry.UnknownSince.IsZero()}, "it is still to be sent once more")
		require.NoError(t, b.a.Retry(t.Context(), channel, last.Entry, store.RetryPlan{State: store.MaybePosted}))
		b.advance(time.Minute)
		require.Equal(t, start, claim(t, b.a, lookable).Entry.UnknownSince, "from the first attempt on")
	})
}
