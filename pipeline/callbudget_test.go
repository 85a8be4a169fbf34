package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// slowBudget answers after a while, and notes what it was asked for.
type slowBudget struct {
	*memory.Store
	asked []int64
	err   error
}

func (s *slowBudget) ReserveCalls(ctx context.Context, workspace string, wanted store.Calls) (store.Reservation, error) {
	s.asked = append(s.asked, wanted.N)
	time.Sleep(time.Millisecond)
	if s.err != nil {
		return store.Reservation{}, s.err
	}
	return s.Store.ReserveCalls(ctx, workspace, wanted)
}

// busy is a pipeline of channels of one credential with a message each, which are all woken at once.
func busy(t *testing.T, channels int, perMinute int64) (b bundle, budget *slowBudget, to *bot) {
	t.Helper()
	to = &bot{posts: perMinute}
	var all []pipeline.Channel
	for i := range channels {
		all = append(all, channel(fmt.Sprint("c", i), to))
	}
	b = setup(nil, all...)
	budget = &slowBudget{Store: memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})}
	b.courierOf(func(opts *pipeline.CourierOptions) {
		opts.Outbox, opts.Budget, opts.RecheckEvery = budget.Store, budget, -1
	}, all...)
	for _, ch := range all {
		b.admit(t, ch.Name, 1)
		b.courier.Wake(ch.Name)
	}
	return b, budget, to
}

func TestChannelsThatAskAtTheSameTimeShareAQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, budget, to := busy(t, 20, 6000)
		b.run(t, 100*time.Millisecond)
		require.Len(t, to.sent, 20)
		require.Equal(t, []int64{1, 19}, budget.asked)
	})
}

func TestSharedQuestionReservesNoMoreThanTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, to := busy(t, 20, 20)
		b.run(t, 100*time.Millisecond)
		require.Len(t, to.sent, 10, "half of a minute's at once")
		b.run(t, time.Minute)
		require.Len(t, to.sent, 20, "and one every 3 s")
	})
}

func TestChannelsThatShareAQuestionShareItsFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, budget, to := busy(t, 3, 6000)
		budget.err = context.DeadlineExceeded
		b.run(t, 100*time.Millisecond)
		require.Empty(t, to.sent)
		budget.err = nil
		b.run(t, 5*time.Second)
		require.Len(t, to.sent, 3)
	})
}
