package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// budgeted makes the courier reserve calls, as one on Redis does.
func (b *bundle) budgeted(channels ...pipeline.Channel) {
	budget := memory.New(b.store, memory.Options{Options: store.Options{Owner: "me"}})
	b.courierOf(func(opts *pipeline.CourierOptions) { opts.Outbox, opts.Budget = budget, budget }, channels...)
}

func TestARefusedTokenStopsOnlyItsChannels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		revoked := func(int) error { return &notifier.Error{Action: notifier.StopToken, Reason: "token_revoked"} }
		refused, same, other := &bot{token: "1", sink: sink{answer: revoked}}, &bot{token: "1"}, &bot{token: "2"}
		all := []pipeline.Channel{channel("refused", refused), channel("same", same), channel("other", other)}
		b := setup(nil, all...)
		b.budgeted(all...)
		b.admit(t, "refused", 1)
		b.run(t, time.Second)
		b.admit(t, "same", 1)
		b.admit(t, "other", 1)
		b.run(t, 30*time.Second)
		require.Len(t, refused.at, 1)
		require.Empty(t, same.sent, "it has the refused token")
		require.Len(t, other.sent, 1)
		status, err := b.status.Channel(t.Context(), "other")
		require.NoError(t, err)
		require.Empty(t, status.State.Reason)
	})
}

func TestEachTokenHasABudgetOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		small, large := &bot{token: "1", posts: 60}, &bot{token: "2", posts: 600}
		all := []pipeline.Channel{channel("small", small), channel("large", large)}
		b := setup(nil, all...)
		b.budgeted(all...)
		b.admit(t, "small", 100)
		b.admit(t, "large", 100)
		b.run(t, time.Second)
		require.InDelta(t, 30, len(small.sent), 3, "half of a minute's at once")
		require.Len(t, large.sent, 100)
	})
}
